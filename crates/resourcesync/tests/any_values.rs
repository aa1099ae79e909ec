//! Whatever values a document is made of, the writer refuses it or writes what reads back as the same document (C4).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::{prelude::*, test_runner::TestRunner};
use quick_xml::{Reader, events::Event};
use resourcesync::{
    Algorithm, Capability, Change, ChangeFreq, DateTime, Digest, Document, DocumentWriter, Entry, Form,
    Header, Link, MediaType, Metadata, PackagePath, ReadOptions, Relation, Uri, WriteError, WriteOptions,
    document::Attribute,
    value::{DigestBytes, DigestValue},
};

/// Texts that break naive writers: markup, white space, control characters, noncharacters, names of known values.
fn text() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "a",
        "text/html",
        "changelist",
        "updated",
        "up",
        "resourcesync",
        "top",
        "md5",
        " ",
        "\t",
        "\n",
        "\r",
        "\r\n",
        "\u{0}",
        "\u{1}",
        "\u{b}",
        "\u{7f}",
        "\u{85}",
        "\u{fffd}",
        "\u{fffe}",
        "\u{ffff}",
        "\u{feff}",
        "\u{2028}",
        "😀",
        "ä",
        "<",
        ">",
        "&",
        "\"",
        "'",
        "]]>",
        "<!--",
        "&amp;",
        "&#0;",
        ":",
        "/",
        "/../",
        "http://e.com/",
        "%",
        "xmlns",
        "-",
        "1",
    ]);
    prop_oneof![
        8 => prop::collection::vec(parts, 0..4).prop_map(|parts| parts.concat()),
        1 => Just("x".repeat(70_000)),
    ]
}

fn time() -> impl Strategy<Value = DateTime> {
    prop_oneof![
        any::<i64>().prop_map(DateTime::from_unix_micros),
        (-70_000_000_000_000_000..300_000_000_000_000_000_i64).prop_map(DateTime::from_unix_micros),
        (-70_000_000_000..300_000_000_000_i64).prop_map(DateTime::from_unix_seconds),
        Just("2013-01-03T10:00+01:00".parse().unwrap()),
        Just("2013".parse().unwrap()),
    ]
}

fn uri() -> impl Strategy<Value = Uri> {
    let known =
        prop::sample::select(vec!["http://example.com/a?b=1&c='2'", "urn:x:y", "ws://e.com/", "mailto:a@b"]);
    known.prop_map(|known| known.parse().unwrap())
}

fn digest() -> impl Strategy<Value = Digest> {
    (text(), text(), prop::collection::vec(any::<u8>(), 0..65), 0..4usize).prop_map(
        |(name, value, bytes, which)| {
            let algorithm =
                [Algorithm::Md5, Algorithm::Sha256, Algorithm::Sha512, Algorithm::Other(name.into())];
            let algorithm = algorithm[which].clone();
            let value = match DigestBytes::new(&bytes) {
                Some(bytes) if !bytes.as_slice().is_empty() => DigestValue::Bytes(bytes),
                _ => DigestValue::Opaque(value.into()),
            };
            Digest { algorithm, value }
        },
    )
}

fn attribute() -> impl Strategy<Value = Attribute> {
    let namespace = prop_oneof![
        3 => Just("http://community.example/".to_owned()),
        1 => Just("http://www.w3.org/XML/1998/namespace".to_owned()),
        1 => Just("http://www.openarchives.org/rs/terms".to_owned()),
        1 => text(),
    ];
    let name = prop_oneof![3 => Just("etag".to_owned()), 1 => text()];
    (namespace, name, text()).prop_map(|(namespace, name, value)| Attribute::new(&namespace, &name, &value))
}

fn capability() -> impl Strategy<Value = Capability> {
    prop_oneof![
        (0..Capability::KNOWN.len()).prop_map(|at| Capability::KNOWN[at].clone()),
        text().prop_map(|name| Capability::Other(name.into())),
    ]
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let sometimes = |strategy: BoxedStrategy<String>| prop::option::weighted(0.2, strategy);
    let change = prop_oneof![
        Just(Change::Updated),
        Just(Change::Deleted),
        text().prop_map(|name| Change::Other(name.into())),
    ];
    let times = prop::collection::vec(prop::option::weighted(0.1, time()), 6);
    (
        (prop::option::weighted(0.2, capability()), prop::option::weighted(0.2, change), times),
        (sometimes(text().boxed()), sometimes(text().boxed()), sometimes(text().boxed())),
        prop::collection::vec(digest(), 0..2),
        prop::option::of(any::<u64>()),
        prop::collection::vec(attribute(), 0..2),
    )
        .prop_map(|((capability, change, times), (encoding, path, media_type), hash, length, other)| {
            let mut md = Metadata::new();
            (md.capability, md.change, md.length, md.other) = (capability, change, length, other);
            (md.at, md.completed, md.from) = (times[0], times[1], times[2]);
            (md.until, md.datetime, md.modified) = (times[3], times[4], times[5]);
            md.encoding = encoding.map(Into::into);
            md.path = path.map(|path| PackagePath::new(&path));
            md.media_type = media_type.map(|media_type| MediaType::new(&media_type));
            md.hash = hash.into_iter().collect();
            md
        })
}

fn link() -> impl Strategy<Value = Link> {
    let rel = prop_oneof![
        3 => Just(Relation::Up),
        1 => Just(Relation::ResourceSync),
        1 => Just(Relation::Duplicate),
        1 => text().prop_map(|name| Relation::Other(name.into())),
    ];
    (rel, uri(), metadata(), prop::option::of(any::<u32>())).prop_map(|(rel, href, md, pri)| {
        let mut link = Link::new(rel, href);
        (link.pri, link.encoding, link.hash, link.length) = (pri, md.encoding, md.hash, md.length);
        (link.modified, link.path, link.media_type, link.other) =
            (md.modified, md.path, md.media_type, md.other);
        link
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    let links =
        prop_oneof![4 => prop::collection::vec(link(), 0..2), 1 => prop::collection::vec(link(), 0..4)];
    (uri(), prop::option::weighted(0.2, time()), prop::option::weighted(0.2, text()), metadata(), links)
        .prop_map(|(loc, lastmod, priority, metadata, links)| {
            let mut entry = Entry::new(loc);
            (entry.lastmod, entry.priority) = (lastmod, priority.map(Into::into));
            (entry.changefreq, entry.metadata, entry.links) = (Some(ChangeFreq::Daily), metadata, links);
            entry
        })
}

fn header() -> impl Strategy<Value = Header> {
    let form = prop::sample::select(vec![Form::List, Form::Index]);
    let likely = (form, capability(), time()).prop_map(|(form, capability, time)| {
        let mut header = Header::new(form, capability);
        let md = header.metadata.get_or_insert_default();
        match &md.capability {
            Some(Capability::ChangeList | Capability::ChangeDump) => md.from = Some(time),
            Some(Capability::ResourceList | Capability::ResourceDump) => md.at = Some(time),
            _ => {}
        }
        header.links.push(Link::new(Relation::Up, "http://example.com/caps.xml".parse().unwrap()));
        header
    });
    let any =
        (prop::option::of(metadata()), prop::collection::vec(link(), 0..3)).prop_map(|(metadata, links)| {
            let mut header = Header::bare(Form::List);
            (header.metadata, header.links) = (metadata, links);
            header
        });
    prop_oneof![3 => likely, 1 => any]
}

fn write(header: &Header, entry: &Entry, options: WriteOptions) -> Result<Vec<u8>, WriteError> {
    let mut writer = DocumentWriter::new(Vec::new(), header, options)?;
    writer.write_entry(entry)?;
    writer.finish()
}

/// Reads with the XML library alone, strictly.
fn is_well_formed(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..);
    if !text.chars().all(allowed) {
        return false;
    }
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    loop {
        match reader.read_event() {
            Ok(Event::Eof) => return true,
            Ok(Event::Start(tag) | Event::Empty(tag)) => {
                if tag.attributes().any(|attribute| attribute.is_err()) {
                    return false;
                }
            }
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

#[test]
fn c4_any_values_are_written_so_that_they_read_back_or_are_refused() {
    let mut config = ProptestConfig::with_cases(2_000);
    config.failure_persistence = None;
    let written = std::cell::Cell::new(0);
    TestRunner::new(config)
        .run(&(header(), entry()), |(header, entry)| {
            for options in [WriteOptions::unchecked(), WriteOptions::plain()] {
                if let Ok(bytes) = write(&header, &entry, options) {
                    prop_assert!(is_well_formed(&bytes), "{}", String::from_utf8_lossy(&bytes));
                    let read = Document::read(&bytes[..], ReadOptions::new());
                    prop_assert!(read.is_ok(), "{read:?}\n{}", String::from_utf8_lossy(&bytes));
                }
            }
            let Ok(bytes) = write(&header, &entry, WriteOptions::new()) else { return Ok(()) };
            written.set(written.get() + 1);
            prop_assert!(is_well_formed(&bytes));
            let again = Document::read(&bytes[..], ReadOptions::new());
            let Ok(again) = again else { panic!("{again:?}\n{}", String::from_utf8_lossy(&bytes)) };
            prop_assert_eq!(again.header(), &header, "{}", String::from_utf8_lossy(&bytes));
            prop_assert_eq!(again.entries(), [entry], "{}", String::from_utf8_lossy(&bytes));
            Ok(())
        })
        .unwrap();
    assert!(written.get() > 20, "only {} documents were written", written.get());
}

#[test]
fn c4_control_characters_and_noncharacters_are_refused_in_every_mode() {
    let header = Header::new(Form::List, Capability::Description);
    for bad in ["text/\u{1}", "text/\u{fffe}", "\u{ffff}", "\u{0}"] {
        let entry = Entry::new("http://example.com/".parse().unwrap()).with_media_type(MediaType::new(bad));
        for options in [WriteOptions::new(), WriteOptions::unchecked()] {
            let refused = write(&header, &entry, options).unwrap_err();
            assert_eq!(refused.rule(), Some("GEN-24"), "{bad:?}");
        }
    }
}

#[test]
fn o367_a_change_that_the_standard_does_not_have_is_refused_in_each_document() {
    let up = Link::new(Relation::Up, "http://example.com/caps.xml".parse().unwrap());
    let mut header = Header::new(Form::List, Capability::ResourceList);
    header.links.push(up);
    header.metadata.get_or_insert_with(Metadata::default).at = Some("2026-01-01T00:00:00Z".parse().unwrap());
    for name in ["nope", "Updated", ""] {
        let mut entry = Entry::new("http://example.com/a".parse().unwrap());
        entry.metadata.change = Some(Change::Other(name.into()));
        let refused = write(&header, &entry, WriteOptions::new()).unwrap_err();
        assert_eq!(refused.rule(), Some("ATT-8"), "{name:?}");
    }
}

#[test]
fn c4_an_entry_that_is_refused_leaves_no_trace() {
    let header = Header::new(Form::List, Capability::Description);
    let mut writer = DocumentWriter::new(Vec::new(), &header, WriteOptions::new()).unwrap();
    let good = Entry::new("http://example.com/good".parse().unwrap());
    assert!(writer.write_entry(&good.clone().with_media_type(MediaType::new("\u{1}"))).is_err());
    writer.write_entry(&good).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert_eq!(text.matches("<url>").count(), 1, "{text}");
}
