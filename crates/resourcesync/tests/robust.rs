//! Hostile and random input: an error with a place, or what was written (THREATS D11 to D14, D16).
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../../../fuzz/bodies.rs"]
mod bodies;
#[path = "robust/documents.rs"]
mod documents;
#[path = "robust/limits.rs"]
mod limits;

use std::io::BufReader;

use proptest::{
    prelude::{any, prop},
    test_runner::{Config, TestRunner},
};
use resourcesync::{
    Document, DocumentReader, Limits, ReadError, ReadOptions, SyntaxErrorKind, WriteOptions,
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
            if cut {
                bytes.truncate(at)
            } else {
                bytes[at] = byte
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

/// Returns the number of faults of the tags of some elements in an entry.
fn faults_of_tags(inner: &str) -> usize {
    let text = sitemap(&format!("<url><loc>http://example.com/a</loc>{inner}</url>"));
    let mut reader = DocumentReader::open(text.as_bytes(), ReadOptions::new()).expect("a Sitemap");
    assert!(reader.entries().all(|entry| entry.is_ok()), "{inner}");
    let findings = reader.take_findings();
    findings.iter().filter(|finding| finding.rule == "GEN-24" && finding.position.line == 2).count()
}

#[test]
fn o824_a_prefix_that_xml_readers_refuse_is_a_finding() {
    for inner in [
        "<rs:md xmlns:xmlns='urn:x'/>",
        "<rs:md xmlns:xml='urn:x'/>",
        "<rs:md xmlns:x=''/>",
        "<rs:md xmlns:x='http://www.w3.org/XML/1998/namespace'/>",
        "<rs:md xmlns='http://www.w3.org/2000/xmlns/'/>",
        "<rs:md xmlns:x='urn:x' xmlns:y='urn:x' x:a='1' y:a='2'/>",
        "<x:y xmlns:x='urn:x' z:a='1'/>",
    ] {
        assert_eq!(faults_of_tags(inner), 1, "{inner}");
    }
    for inner in [
        "<rs:md xmlns:xml='http://www.w3.org/XML/1998/namespace' xml:lang='de'/>",
        "<x:y xmlns='' xmlns:x='urn:x' xmlns:y='urn:y' x:a='1' y:a='2' a='3'/>",
    ] {
        assert_eq!(faults_of_tags(inner), 0, "{inner}");
    }
}

#[test]
fn o831_a_tag_that_is_not_well_formed_is_a_finding() {
    for inner in [
        "<rs:md length='1'type='a/b'/>",
        "<rs:md -a='1'/>",
        "<rs:md ty\u{d7}pe='1'/>",
        "<x:y xmlns:x='urn:x' x:1='2'/>",
        "<x:y xmlns:x='urn:x' x:a:b='2'/>",
        "<x:y xmlns:x='urn:x' x:='2'/>",
        "<x:y xmlns:x='urn:x' a='&lt;'b='2'/>",
        "<x:1 xmlns:x='urn:x'/>",
        "<x:a:b xmlns:x='urn:x'/>",
        "<x: xmlns:x='urn:x'></x:>",
        "<x:a'/' xmlns:x='urn:x'/>",
    ] {
        assert_eq!(faults_of_tags(inner), 1, "{inner}");
    }
    for inner in [
        "<rs:md\tlength = '1'\n type='&lt;'/>",
        "<x:y xmlns:x='urn:x' x:_='1' x:a-1.b='='><x:z/></x:y>",
        "<x:\u{e4} xmlns:x='urn:x' x:\u{f6}=\"'\"/>",
        "<x:y xmlns:x='urn:x' a='1' b='2' c='3' d='4' e='5' f='6' g='7' h='8' i='&amp;' />",
    ] {
        assert_eq!(faults_of_tags(inner), 0, "{inner}");
    }
}

#[test]
fn o832_a_reference_is_refused_where_its_character_is() {
    for text in [
        sitemap("<rs:md capability='resourcelist' type='&#xFFFE;'/>"),
        sitemap("<rs:md capability='resourcelist' type='&#1;'/>"),
        sitemap("<url a='&#xFFFF;'><loc>http://example.com/</loc></url>"),
        "&#32;".to_owned() + &sitemap(""),
        "<![CDATA[ ]]>".to_owned() + &sitemap(""),
        sitemap("") + "&#10;",
        sitemap("") + "<![CDATA[]]>",
    ] {
        assert_eq!(kind_of(text.as_bytes(), Limits::default()).rule(), "GEN-24", "{text}");
    }
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
