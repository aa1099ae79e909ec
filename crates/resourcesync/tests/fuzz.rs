//! The bodies of the fuzz targets on generated input, for toolchains without a fuzzer: `cargo xtask ci fuzz`.
//!
//! Each test runs for `INSTEP_FUZZ_SECONDS` (one second if unset). The seed of a run is printed with a failure, and
//! `INSTEP_FUZZ_SEED` repeats it.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints its seed"
)]

#[path = "../../../fuzz/bodies.rs"]
mod bodies;
#[path = "robust/documents.rs"]
mod documents;
#[path = "fuzz/havoc.rs"]
mod havoc;

use std::{
    io::Cursor,
    time::{Duration, Instant},
};

use havoc::Havoc;
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use resourcesync::{MediaType, PackagePath, WriteOptions, package::PackageWriter};

fn seconds() -> u64 {
    std::env::var("INSTEP_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Runs a body on damaged copies of what `seed` makes until the time is over.
fn fuzz(body: fn(&[u8]), words: &'static [&'static str], mut seed: impl FnMut(&mut Havoc) -> Vec<u8>) {
    let mut havoc = Havoc::start(words);
    let end = Instant::now() + Duration::from_secs(seconds());
    let mut inputs = 0_u64;
    while inputs < 20 || Instant::now() < end {
        let mut input = seed(&mut havoc);
        for _ in 0..8 {
            body(&input);
            havoc.damage(&mut input);
            inputs += 1;
        }
    }
    println!("{inputs} inputs, seed {}", havoc.first_seed());
}

/// Returns a document of any kind, as it is written.
fn any_document(runner: &mut TestRunner) -> Vec<u8> {
    let document = documents::any_document().new_tree(runner).expect("a document").current();
    document.write(Vec::new(), WriteOptions::new()).expect("memory takes bytes")
}

/// Returns one of the texts.
fn one_of(texts: &'static [&'static str]) -> impl FnMut(&mut Havoc) -> Vec<u8> {
    |havoc| texts[havoc.below(texts.len())].as_bytes().to_vec()
}

const XML: &[&str] = &[
    "<",
    ">",
    "/>",
    "</url>",
    "<url>",
    "<loc>",
    "</loc>",
    "<rs:md ",
    "<rs:ln ",
    " at=\"",
    " hash=\"md5:",
    " change=\"deleted\"",
    " capability=\"",
    "xmlns=\"",
    "xmlns:rs=\"http://www.openarchives.org/rs/terms/\"",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<?xml version=\"1.0\" encoding=\"UTF-16\"?>",
    "<!DOCTYPE a [",
    "&amp;",
    "&#0;",
    "&#x10FFFF;",
    "\u{feff}",
    "\u{0}",
    "2013-01-03T09:00:00Z",
];

#[test]
#[ignore = "runs for a while: cargo xtask ci fuzz"]
fn reader_and_validator_agree_about_any_bytes() {
    let mut runner = TestRunner::default();
    fuzz(bodies::reader, XML, |_| any_document(&mut runner));
}

#[test]
#[ignore = "runs for a while: cargo xtask ci fuzz"]
fn a_document_that_was_read_is_written_and_read_back() {
    let mut runner = TestRunner::default();
    fuzz(bodies::round_trip, XML, |_| any_document(&mut runner));
}

#[test]
#[ignore = "runs for a while: cargo xtask ci fuzz"]
fn a_datetime_is_written_as_it_was_read() {
    let texts = &[
        "2013",
        "2013-01",
        "2013-01-03",
        "2013-01-03T09:00Z",
        "2013-01-03T09:00:00.45+01:00",
        "2016-12-31T23:59:60Z",
    ];
    fuzz(bodies::datetime, &["T", "Z", "+14:00", "-00:00", ".", "24:00", "99999", "-", ":60"], one_of(texts));
}

#[test]
#[ignore = "runs for a while: cargo xtask ci fuzz"]
fn digests_are_written_so_that_they_read_back() {
    let texts = &[
        "md5:1584abdf8ebdc9802ac0c6a7402c03b6",
        "sha-1:da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "md5:00 sha-256:ff",
    ];
    fuzz(
        bodies::hash,
        &["md5:", "sha-256:", "SHA-1:", "sha-512:", " ", ":", "\t", "blake3:", "="],
        one_of(texts),
    );
}

#[test]
#[ignore = "runs for a while: cargo xtask ci fuzz"]
fn any_text_is_searched_for_links_without_a_crash() {
    let texts = &[
        "<http://example.com/caps.xml>; rel=\"resourcesync\"; title*=UTF-8''a, <b>;rel=next",
        "User-agent: *\nDisallow: /a\nSitemap: http://example.com/resourcelist.xml\r\n",
        "<html><head><base href=/x/><link rel=resourcesync href='caps.xml'></head><body><script>'<link>'</script>",
    ];
    let words = &[
        "<link rel=resourcesync href=",
        "rel=\"",
        "<base href=",
        "Sitemap:",
        "\r",
        "\u{0}",
        ";",
        ",",
        "\\\"",
        "&amp;",
        "<!--",
    ];
    fuzz(bodies::discover, words, one_of(texts));
}

#[test]
#[ignore = "runs for a while: cargo xtask ci fuzz"]
fn any_bytes_are_read_as_a_package_without_a_crash() {
    let words = &[
        "PK\u{1}\u{2}",
        "PK\u{3}\u{4}",
        "PK\u{5}\u{6}",
        "PK\u{6}\u{6}",
        "manifest.xml",
        "../",
        "\u{0}\u{0}\u{0}\u{0}",
        "\u{8}\u{0}",
    ];
    let mut runner = TestRunner::default();
    fuzz(bodies::package, words, |havoc| {
        let manifest = any_document(&mut runner);
        let mut writer = PackageWriter::new(Cursor::new(Vec::new()), &manifest).expect("memory takes bytes");
        for number in 0..havoc.below(4) {
            let bytes = vec![b'a'; havoc.below(300)];
            let path = PackagePath::new(&format!("/member-{number}"));
            writer
                .add(&path, Some(&MediaType::new("text/plain")), bytes.len() as u64, &bytes[..])
                .expect("memory takes bytes");
        }
        writer.finish().expect("memory takes bytes").into_inner()
    });
}
