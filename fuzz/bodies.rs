//! Properties that hold for all bytes. The fuzz targets run these bodies, and so do the property tests of
//! `resourcesync`, which need no fuzzer.

use std::io::Cursor;

use resourcesync::{
    DateTime, Digests, Document, DocumentReader, Entry, Limits, ReadOptions, WriteOptions, discovery,
    package::{Package, PackageLimits},
    validate::Validator,
};

fn options() -> ReadOptions {
    let mut limits = Limits::default();
    (limits.bytes, limits.token_bytes, limits.entries) = (1 << 20, 1 << 16, 10_000);
    let mut options = ReadOptions::new();
    (options.limits, options.base) = (limits, "http://example.com/list.xml".parse().ok());
    options
}

/// Reading ends, with entries or an error with a position; the validator agrees about the readable part.
pub(crate) fn reader(data: &[u8]) {
    let mut entry = Entry::default();
    let mut read = 0;
    let readable = match DocumentReader::open(data, options()) {
        Err(_) => false,
        Ok(mut reader) => loop {
            match reader.read_entry(&mut entry) {
                Ok(true) => read += 1,
                Ok(false) => break true,
                Err(_) => break false,
            }
        },
    };
    let report = Validator::default().document(data).expect("bytes in memory arrive");
    let errors = report.findings.iter().any(|finding| finding.is_error());
    assert!(errors || (readable && report.entries == read), "strict and tolerant disagree");
}

/// A document that is written reads back as the same document, and the same document gives the same bytes.
pub(crate) fn round_trip(data: &[u8]) {
    let Ok(document) = Document::read(data, options()) else { return };
    let Ok(bytes) = document.write(Vec::new(), WriteOptions::unchecked()) else { return };
    let mut own = options();
    own.dialects = false;
    let again = Document::read(&bytes[..], own.clone()).expect("what is written can be read");
    let bytes_again = again.write(Vec::new(), WriteOptions::unchecked()).expect("memory takes bytes");
    let third = Document::read(&bytes_again[..], own).expect("what is written can be read");
    assert_eq!(again, third);
}

/// A datetime is written as it was read.
pub(crate) fn datetime(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(value) = DateTime::parse(text) {
        assert_eq!(DateTime::parse(&value.to_string()), Ok(value));
        assert!(value.instant() < value.end() && value.overlaps(&value));
    }
}

/// A `hash` attribute keeps every valid item, and is written so that it reads back.
pub(crate) fn hash(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let digests = Digests::parse(text, |_| {});
    assert_eq!(Digests::parse(&digests.to_string(), |_| {}), digests);
}

/// Discovery takes any text.
pub(crate) fn discover(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let base = "http://example.com/a/b".parse().expect("a URI");
    for target in discovery::from_link_header(&text, &base) {
        assert!(target.as_str().contains(':'));
    }
    discovery::from_robots(&text, &base);
    discovery::from_html(data, &base);
}

/// The directory of a package is read, or refused; the bytes of members are within it.
pub(crate) fn package(data: &[u8]) {
    if let Ok(mut package) = Package::open(Cursor::new(data), PackageLimits::new()) {
        for member in package.members() {
            let member = member.expect("bytes in memory arrive");
            assert!(member.data_start + member.compressed <= data.len() as u64);
        }
    }
    let _ = Validator::default().package(Cursor::new(data), PackageLimits::new(), None);
}
