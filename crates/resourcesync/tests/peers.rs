//! Documents as real Sources publish them are read as they are meant: wrong namespaces, old versions, broken values.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "peers/change_times.rs"]
mod change_times;
#[path = "peers/old_versions.rs"]
mod old_versions;

use std::{fs, path::PathBuf};

use resourcesync::{
    Algorithm, Capability, Change, DateTime, Document, DocumentReader, Entry, Form, Header, ReadOptions,
    document::ChangeList,
};

fn document(root: &str, head: &str, entries: &str) -> String {
    format!(
        "<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
         xmlns:rs=\"http://www.openarchives.org/rs/terms/\">{head}{entries}</{root}>"
    )
}

fn list(head: &str, entries: &str) -> String {
    document("urlset", head, entries)
}

fn url(name: &str, inner: &str) -> String {
    format!("<url><loc>http://example.com/{name}</loc>{inner}</url>")
}

/// Reads a document; header, entries, and the rules of what was noticed.
fn read(text: &str) -> (Header, Vec<Entry>, Vec<&'static str>) {
    let options = ReadOptions::for_base("http://example.com/a/list.xml".parse().unwrap());
    let mut reader = DocumentReader::open(text.as_bytes(), options).unwrap();
    let entries = reader.entries().collect::<Result<_, _>>().unwrap();
    let rules = reader.take_findings().into_iter().map(|finding| finding.rule).collect();
    (reader.header().clone(), entries, rules)
}

fn time(text: &str) -> DateTime {
    text.parse().unwrap()
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../instep-testkit/data").join(name)).unwrap()
}

const NINE: &str = "2013-01-03T09:00:00Z";

#[test]
fn trap_4_an_index_with_the_wrong_root_is_seen_by_its_entries() {
    let member = "<url><rs:md capability=\"resourcelist\"/><loc>http://example.com/part.xml</loc></url>";
    let (header, entries, rules) =
        read(&list(&format!("<rs:md capability=\"resourcelist\" at=\"{NINE}\"/>"), member));
    assert_eq!(header.form, Form::List);
    assert!(header.is_member(&entries[0]) && rules == ["GEN-23"]);
}

#[test]
fn trap_9_package_paths_are_found_with_and_without_slash() {
    for path in ["/a/b", "a/b", "./a/b", "/./a/b"] {
        assert_eq!(resourcesync::PackagePath::new(path).member(), Ok("a/b"), "{path}");
    }
    for path in ["../a", "/a/../../b", "C:/a", "a\\b", "/", ""] {
        assert!(resourcesync::PackagePath::new(path).member().is_err(), "{path}");
    }
}

#[test]
fn trap_10_digests_in_other_spellings_can_be_verified() {
    let md5 = "1584abdf8ebdc9802ac0c6a7402c03b6";
    for (hash, algorithm) in [
        (format!("md5:{md5}"), Algorithm::Md5),
        (format!("MD5:{}", md5.to_uppercase()), Algorithm::Md5),
        ("md5:FYSr346+yYAqwManQCwDtg==".to_owned(), Algorithm::Md5),
        (format!("unknown:1 whirlpool:2 md5:{md5}"), Algorithm::Md5),
        (format!("nonsense md5:{md5}"), Algorithm::Md5),
        (format!("urn:sha1:{}", "0a".repeat(20)), Algorithm::Sha1),
        (format!("SHA256:{}", "0a".repeat(32)), Algorithm::Sha256),
    ] {
        let (_, entries, _) = read(&list("", &url("a", &format!("<rs:md hash=\"{hash}\"/>"))));
        let bytes = entries[0].digest(&algorithm).and_then(resourcesync::Digest::bytes);
        assert_eq!(bytes.map(<[u8]>::len), algorithm.digest_bytes(), "{hash}");
    }
}

#[test]
fn trap_11_namespaces_written_otherwise_are_understood() {
    let right = list(
        &format!("<rs:md capability=\"resourcelist\" at=\"{NINE}\"/>"),
        &url("a", "<rs:md length=\"7\"/>"),
    );
    for namespace in [
        "http://www.openarchives.org/rs/terms",
        "https://www.openarchives.org/rs/terms/",
        "http://www.openarchives.org/rs/",
    ] {
        let (header, entries, rules) =
            read(&right.replace("http://www.openarchives.org/rs/terms/", namespace));
        assert_eq!(
            (header.capability(), entries[0].metadata.length),
            (Some(&Capability::ResourceList), Some(7))
        );
        assert!(rules.contains(&"GEN-2"), "{namespace}");
    }
    let (header, ..) = read(&right.replace("xmlns:rs", "xmlns:x").replace("rs:md", "x:md"));
    assert_eq!(header.capability(), Some(&Capability::ResourceList));
}

#[test]
fn trap_12_relative_references_are_resolved_against_the_document() {
    let head = "<rs:ln rel=\"up\" href=\"/caps.xml\"/>";
    let (header, entries, rules) = read(&list(head, "<url><loc> res1 </loc></url>"));
    assert_eq!(header.up().unwrap().as_str(), "http://example.com/caps.xml");
    assert_eq!(entries[0].loc.as_str(), "http://example.com/a/res1");
    assert!(rules.contains(&"NAV-5") && rules.contains(&"GEN-14"));
}

#[test]
fn trap_15_repeated_and_broken_entries_never_cost_the_list() {
    let text =
        list("", &format!("{}{}<url/><url><loc></loc></url>{}", url("a", ""), url("a", ""), url("b", "")));
    assert_eq!(read(&text).1.len(), 3);
    let values = "<rs:md change=\"renamed\" length=\"-4\" type=\"\" hash=\"\" path=\"\"/><rs:ln rel=\"via\"/>\
                  <rs:ln rel=\"duplicate\" href=\"http://example.com/m\" pri=\"0\"/>";
    let (_, entries, _) = read(&list("", &url("a", values)));
    assert_eq!(entries[0].metadata.change, Some(Change::Other("renamed".into())));
    assert_eq!((entries[0].metadata.length, entries[0].links.len()), (None, 1));
    assert_eq!(entries[0].links[0].preference(), 999_999);
}

#[test]
fn trap_19_gzip_and_other_encodings_are_read() {
    use std::io::Write;
    let text = list(&format!("<rs:md capability=\"resourcelist\" at=\"{NINE}\"/>"), &url("%C3%A9", ""));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    let utf16: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let latin =
        format!("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>{}", text.replace("%C3%A9", "\u{e9}"));
    let latin: Vec<u8> = latin.chars().map(|character| u8::try_from(u32::from(character)).unwrap()).collect();
    for bytes in [text.into_bytes(), gzip.finish().unwrap(), utf16, latin] {
        let mut reader = DocumentReader::open(&bytes[..], ReadOptions::new()).unwrap();
        let entries: Vec<_> = reader.entries().collect::<Result<_, _>>().unwrap();
        assert_eq!(entries[0].loc.as_str(), "http://example.com/%C3%A9");
    }
}

#[test]
fn dia_6_prefixed_attributes_count_where_plain_ones_are_missing() {
    let (header, entries, _) =
        read(std::str::from_utf8(&fixture("constructed/dialect/09_prefixed_attributes.xml")).unwrap());
    assert_eq!(header.capability(), Some(&Capability::ResourceList));
    assert_eq!((header.up().is_some(), entries[0].metadata.length), (true, Some(1)));
    let (_, entries, _) = read(&list("", &url("a", "<rs:md rs:length=\"1\" length=\"2\"/>")));
    assert_eq!(entries[0].metadata.length, Some(2));
}

#[test]
fn n8_5_notifications_without_root_metadata_are_known_by_their_content() {
    for (example, framework) in [("04_01", false), ("05_01", true), ("05_02", true)] {
        let bytes = fixture(&format!("notification-0.8/example_{example}.xml"));
        let document = Document::read(&bytes[..], ReadOptions::new()).unwrap();
        assert_eq!(matches!(document, Document::FrameworkNotification(_)), framework, "{example}");
        assert_eq!(matches!(document, Document::ChangeNotification(_)), !framework, "{example}");
    }
    let error =
        ChangeList::read(list("<rs:md capability=\"resourcelist\"/>", "").as_bytes(), ReadOptions::new())
            .unwrap_err();
    assert_eq!(error.to_string(), "Expected a Change List, found a urlset with capability \"resourcelist\"");
}

#[test]
fn b6_metadata_after_the_entries_is_read() {
    let (header, entries, rules) =
        read(&list("", &format!("{}<rs:md capability=\"resourcelist\" at=\"{NINE}\"/>", url("a", ""))));
    assert_eq!((header.capability(), entries.len()), (Some(&Capability::ResourceList), 1));
    assert!(rules.contains(&"GEN-23"));
}
