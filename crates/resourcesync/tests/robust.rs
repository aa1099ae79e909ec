//! Hostile and random input: an error with a place, or what was written (THREATS D11 to D14, D16).
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../../../fuzz/bodies.rs"]
mod bodies;
#[path = "robust/documents.rs"]
mod documents;

use std::io::{BufReader, Read};

use proptest::{
    prelude::{any, prop},
    test_runner::{Config, TestRunner},
};
use resourcesync::{
    Document, DocumentReader, LimitKind, Limits, ReadError, ReadOptions, SyntaxErrorKind, WriteOptions,
    validate::Validator,
};

fn runner(cases: u32) -> TestRunner {
    let mut config = Config::with_cases(cases);
    config.failure_persistence = None;
    TestRunner::new(config)
}

#[test]
fn ten_thousand_random_documents_are_right_and_read_back_equal() {
    runner(10_000)
        .run(&documents::any_document(), |document| {
            let bytes = document.write(Vec::new(), WriteOptions::new()).unwrap();
            assert_eq!(bytes, document.write(Vec::new(), WriteOptions::new()).unwrap());
            let (again, findings) = Document::read_with_findings(&bytes[..], ReadOptions::new()).unwrap();
            assert_eq!(again, document);
            assert!(findings.is_empty(), "{findings:?}");
            let report = Validator::default().document(&bytes[..]).unwrap();
            assert_eq!(
                report.summary.errors,
                0,
                "{:#?}\n{}",
                report.findings,
                String::from_utf8_lossy(&bytes)
            );
            Ok(())
        })
        .unwrap();
}

#[test]
fn any_bytes_are_taken_without_panic() {
    let noise = prop::collection::vec(any::<u8>(), 0..300);
    runner(500)
        .run(&noise, |data| {
            for body in [bodies::reader, bodies::datetime, bodies::hash, bodies::discover, bodies::package] {
                body(&data);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn damaged_documents_are_taken_without_panic() {
    let damage = (documents::any_document(), any::<prop::sample::Index>(), any::<u8>(), any::<bool>());
    runner(1_000)
        .run(&damage, |(document, at, byte, cut)| {
            let mut bytes = document.write(Vec::new(), WriteOptions::new()).unwrap();
            let at = at.index(bytes.len());
            match cut {
                true => bytes.truncate(at),
                false => bytes[at] = byte,
            }
            bodies::reader(&bytes);
            bodies::round_trip(&bytes);
            Ok(())
        })
        .unwrap();
}

#[test]
fn d16_a_document_that_is_cut_off_anywhere_is_never_whole() {
    let text = sitemap("<url><loc>http://example.com/a</loc></url>\n".repeat(3).as_str());
    for end in 0..text.trim_end().len() {
        let read = Document::read(&text.as_bytes()[..end], ReadOptions::new());
        assert!(read.is_err(), "{}", &text[..end]);
    }
}

fn sitemap(inner: &str) -> String {
    format!(
        "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" xmlns:rs=\"http://www.openarchives.org/rs/terms/\">\n{inner}</urlset>"
    )
}

fn kind_of(source: impl std::io::BufRead, limits: Limits) -> SyntaxErrorKind {
    let mut options = ReadOptions::new();
    options.limits = limits;
    let read = DocumentReader::open(source, options).and_then(|mut reader| {
        let mut entry = resourcesync::Entry::default();
        while reader.read_entry(&mut entry)? {}
        Ok(())
    });
    match read {
        Err(ReadError::Syntax(error)) => {
            assert!(error.position.line > 0, "{error}");
            error.kind
        }
        other => panic!("{other:?}"),
    }
}

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

#[test]
fn d11_entities_and_doctypes_are_refused() {
    for text in [
        "<!DOCTYPE urlset>".to_owned() + &sitemap(""),
        "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>".to_owned()
            + &sitemap("<url><loc>&b;</loc></url>"),
        "<!DOCTYPE x SYSTEM \"file:///etc/passwd\">".to_owned() + &sitemap(""),
        sitemap("<url><loc>http://example.com/&unknown;</loc></url>"),
    ] {
        assert!(matches!(kind_of(text.as_bytes(), Limits::default()), SyntaxErrorKind::Doctype(_)), "{text}");
    }
}

#[test]
fn what_is_not_xml_is_refused_with_its_place() {
    for text in [
        sitemap("<url></loc>"),
        sitemap("") + "<urlset/>",
        sitemap("") + "text",
        "text".to_owned() + &sitemap(""),
        sitemap("<url a=\"1\" a=\"2\"/>"),
        sitemap("<rs:md at=\"<\"/>"),
        sitemap("]]>"),
        sitemap("\u{1}"),
        sitemap("<url><loc>&#0;</loc></url>"),
        sitemap("<!-- -- -->"),
    ] {
        let kind = kind_of(text.as_bytes(), Limits::default());
        assert_eq!(kind.rule(), "GEN-24", "{text}: {kind}");
    }
}

#[test]
fn a17_noncharacters_are_refused_as_text_and_as_references_alike() {
    for character in ["\u{fffe}", "\u{ffff}", "&#xFFFE;", "&#xFFFF;", "&#65535;"] {
        for text in [
            sitemap(&format!("<url><loc>http://example.com/</loc><priority>{character}</priority></url>")),
            sitemap(&format!("<!--{}{character}-->", "x".repeat(300))),
        ] {
            if character.starts_with('&') && text.contains("<!--") {
                continue;
            }
            let kind = kind_of(text.as_bytes(), Limits::default());
            assert!(kind.to_string().contains("XML does not allow"), "{text}: {kind}");
            // Byte by byte, the character arrives in parts.
            kind_of(BufReader::with_capacity(1, text.as_bytes()), Limits::default());
        }
    }
    let text =
        sitemap("<url><loc>http://example.com/</loc><priority>\u{fffd}\u{efff}\u{ffee}</priority></url>");
    assert!(Document::read(text.as_bytes(), ReadOptions::new()).is_ok());
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

#[test]
fn b23_a_list_in_utf_16_is_read_to_its_last_entry() {
    let text = sitemap(&"<url><loc>http://example.com/a</loc></url>".repeat(5));
    let encode = |text: &str, mark: bool, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        let mark = if mark { "\u{feff}" } else { "" };
        format!("{mark}{text}").encode_utf16().flat_map(bytes).collect()
    };
    for padding in 0..600 {
        let text = format!("{text}{}", " ".repeat(padding));
        for (mark, bytes) in [(true, u16::to_be_bytes as fn(u16) -> [u8; 2]), (false, u16::to_le_bytes)] {
            let document = Document::read(&encode(&text, mark, bytes)[..], ReadOptions::new()).unwrap();
            assert_eq!(document.entries().len(), 5, "{padding}");
        }
    }
    let mut cut = encode(&text, true, u16::to_be_bytes);
    cut.pop();
    assert!(Document::read(&cut[..], ReadOptions::new()).is_err());
}
