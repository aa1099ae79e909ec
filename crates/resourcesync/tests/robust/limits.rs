//! Limits of size, depth and number: each is reached, and no document is kept in memory beyond it.

use std::io::{BufReader, Read};

use resourcesync::{Document, LimitKind, Limits, ReadOptions, SyntaxErrorKind};

use super::{kind_of, sitemap};

fn limit_of(text: &str) -> LimitKind {
    match kind_of(text.as_bytes(), Limits::default()) {
        SyntaxErrorKind::Limit { limit, .. } => limit,
        other => panic!("{other}"),
    }
}

#[test]
fn d12_depth_attributes_and_tokens_are_limited_at_their_default() {
    let nested = |depth: usize| sitemap(&format!("{}{}", "<x>".repeat(depth), "</x>".repeat(depth)));
    let attributed = |count: usize| {
        let attributes: String = (0..count).map(|index| format!(" x:a{index}=\"\"")).collect();
        sitemap(&format!("<url><loc>http://e.com/</loc><rs:md xmlns:x=\"http://x.com/\"{attributes}/></url>"))
    };
    let worded = |bytes: usize| sitemap(&format!("<!--{}-->", "x".repeat(bytes)));
    let read = |text: &str| Document::read(text.as_bytes(), ReadOptions::new()).is_ok();
    assert!(read(&nested(15)) && limit_of(&nested(16)) == LimitKind::Depth);
    assert!(read(&attributed(63)) && limit_of(&attributed(64)) == LimitKind::Attributes);
    assert!(read(&worded(65_000)) && limit_of(&worded(66_000)) == LimitKind::TokenBytes);
    assert_eq!(limit_of(&attributed(100_000)), LimitKind::TokenBytes);
    assert_eq!(limit_of(&nested(100_000)), LimitKind::Depth);
}

#[test]
fn d12_a_token_without_end_is_not_held() {
    let start = &b"<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><url><loc>"[..];
    let endless = BufReader::new(start.chain(std::io::repeat(b'x')));
    let limit = |kind| matches!(kind, SyntaxErrorKind::Limit { limit: LimitKind::TokenBytes, .. });
    assert!(limit(kind_of(endless, Limits::default())));
}

#[test]
fn d13_a_list_without_end_stops_at_the_limit() {
    struct Endless(usize);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            const ENTRY: &[u8] = b"<url><loc>http://example.com/a</loc></url>";
            for byte in buffer.iter_mut() {
                *byte = ENTRY[self.0 % ENTRY.len()];
                self.0 += 1;
            }
            Ok(buffer.len())
        }
    }
    let start = &b"<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">"[..];
    let mut limits = Limits::default();
    limits.entries = 1_000;
    let kind = kind_of(BufReader::new(start.chain(Endless(0))), limits);
    assert!(matches!(kind, SyntaxErrorKind::Limit { limit: LimitKind::Entries, most: 1_000 }));
    (limits.entries, limits.bytes) = (u64::MAX, 100_000);
    let kind = kind_of(BufReader::new(start.chain(Endless(0))), limits);
    assert!(matches!(kind, SyntaxErrorKind::Limit { limit: LimitKind::Bytes, .. }));
}

#[test]
fn d14_a_gzip_bomb_stops_at_the_limit() {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(b"<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">").unwrap();
    gzip.write_all(&vec![b' '; 8 << 20]).unwrap();
    let bomb = gzip.finish().unwrap();
    let mut limits = Limits::default();
    (limits.bytes, limits.token_bytes) = (1 << 20, u64::MAX);
    assert!(matches!(kind_of(&bomb[..], limits), SyntaxErrorKind::Limit { limit: LimitKind::Bytes, .. }));
}

fn listing(root: &str, element: &str, capability: &str, count: usize) -> String {
    let entries: String =
        (0..count).map(|n| format!("<{element}><loc>http://e.com/{n}</loc></{element}>")).collect();
    format!(
        "<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
         xmlns:rs=\"http://www.openarchives.org/rs/terms/\"><rs:md capability=\"{capability}\"/>{entries}</{root}>"
    )
}

#[test]
fn b9_documents_that_lead_to_others_are_refused_beyond_their_limit() {
    for (root, element, capability, most) in [
        ("urlset", "url", "capabilitylist", 1_000),
        ("urlset", "url", "description", 50_000),
        ("urlset", "url", "resourcedump", 50_000),
        ("urlset", "url", "changelist-archive", 50_000),
        ("sitemapindex", "sitemap", "changelist", 50_000),
        ("sitemapindex", "sitemap", "resourcelist", 50_000),
    ] {
        let right = listing(root, element, capability, most);
        assert!(Document::read(right.as_bytes(), ReadOptions::new()).is_ok(), "{capability}");
        let large = listing(root, element, capability, most + 1);
        let kind = kind_of(large.as_bytes(), Limits::default());
        assert_eq!(kind.rule(), "GEN-26");
        assert_eq!(
            kind.to_string(),
            format!("Refused: more than {most} entries in one document"),
            "{capability}"
        );
    }
    let list = listing("urlset", "url", "resourcelist", 60_000);
    assert!(Document::read(list.as_bytes(), ReadOptions::new()).is_ok());
}

#[test]
fn b9_documents_that_lead_to_others_have_as_many_links_as_entries_and_48_mib() {
    let index = |count: usize, inner: &str| {
        listing("sitemapindex", "sitemap", "resourcelist", count)
            .replace("</sitemap>", &format!("{inner}</sitemap>"))
    };
    let links = "<rs:ln rel=\"describedby\" href=\"http://example.com/\"/>".repeat(60);
    let text = index(1_000, &links);
    let (document, findings) = Document::read_with_findings(text.as_bytes(), ReadOptions::new()).unwrap();
    let links: usize = document.entries().iter().map(|entry| entry.links.len()).sum();
    assert_eq!((document.entries().len(), links), (1_000, 50_000));
    assert!(findings.iter().any(|finding| finding.rule == "GEN-26"));
    let large = index(1_000, &format!("<priority>{}</priority>", "x".repeat(60_000)));
    assert_eq!(limit_of(&large), LimitKind::Bytes);
}

#[test]
fn b9_links_beyond_the_limit_are_ignored_and_reported() {
    let links = "<rs:ln rel=\"duplicate\" href=\"http://mirror.example.com/\"/>".repeat(250);
    let text = sitemap(&format!("{links}<url><loc>http://example.com/a</loc>{links}</url>"));
    let (document, findings) = Document::read_with_findings(text.as_bytes(), ReadOptions::new()).unwrap();
    assert_eq!((document.header().links.len(), document.entries()[0].links.len()), (100, 100));
    assert_eq!(findings.iter().filter(|finding| finding.rule == "GEN-26").count(), 300);
}
