//! Tests of the scriptable Source itself: correct by default, wrong on request.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
};

use instep_testkit::{FakeSource, Fault, Layout, TestClock, generate};
use resourcesync::{
    Capability, Change, DocumentReader, DocumentWriter, Entry, Form, Header, ReadOptions, WriteOptions,
};

fn ask(source: &FakeSource, path: &str, headers: &str) -> std::io::Result<(String, Vec<u8>)> {
    let mut stream = TcpStream::connect(source.host())?;
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: h\r\n{headers}\r\n")?;
    // Where the other end has reset it already, reading tells.
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(answer.len());
    let text = String::from_utf8_lossy(&answer[..head]).into_owned();
    read.map(|_| (text, answer.split_off((head + 4).min(answer.len()))))
}

fn get(source: &FakeSource, path: &str) -> (String, Vec<u8>) {
    ask(source, path, "").unwrap()
}

fn read(source: &FakeSource, path: &str) -> (Header, Vec<Entry>) {
    let body = get(source, path).1;
    let mut reader = DocumentReader::new(body.as_slice(), ReadOptions::new()).unwrap();
    let entries = reader.entries().collect::<Result<_, _>>().unwrap();
    assert_eq!(reader.take_findings(), [], "{path}");
    (reader.header().clone(), entries)
}

#[test]
fn it_publishes_what_it_holds_and_what_changed() {
    let mut layout = Layout::new();
    (layout.part_entries, layout.dump) = (Some(2), true);
    let source = FakeSource::start_with(layout).with_resources([
        ("a.txt", "one"),
        ("b.txt", "two"),
        ("c/d.txt", "three"),
    ]);
    source.put("a.txt", "new");
    source.rotate();
    source.delete("b.txt");

    let (list, parts) = read(&source, "resourcelist.xml");
    assert_eq!((list.form, parts.len()), (Form::Index, 2));
    let held: Vec<_> =
        parts.iter().flat_map(|part| read(&source, &part.loc.as_str()[source.url("").len()..]).1).collect();
    assert_eq!(
        held.iter().map(|entry| entry.metadata.length).collect::<Vec<_>>(),
        [Some(3), Some(3), Some(5)]
    );

    let (_, lists) = read(&source, "changelist.xml");
    assert_eq!(lists[0].metadata.until, lists[1].metadata.from);
    assert_eq!(lists[0].metadata.from, list.metadata.unwrap().at);
    let change = |path| read(&source, path).1.remove(0).metadata.change;
    assert_eq!(change("changelist-000001.xml"), Some(Change::Updated));
    assert_eq!(change("changelist-000002.xml"), Some(Change::Deleted));
    assert_eq!(read(&source, "resourcedump.xml").1.len(), 1);
    assert_eq!(read(&source, "capabilitylist.xml").1.len(), 3);
    assert_eq!(read(&source, ".well-known/resourcesync").0.capability(), Some(&Capability::Description));
    assert_eq!(source.requests_for("resourcelist-0002.xml"), 1);
}

#[test]
fn each_fault_goes_wrong_once_and_a_lasting_one_until_it_is_healed() {
    let source = FakeSource::start().with_resources([("a.txt", "the bytes")]);
    source.fail(
        "a.txt",
        [
            Fault::RetryAfter(503, "1".into()),
            Fault::Truncate(3),
            Fault::Length(1000),
            Fault::Flip,
            Fault::Chunked,
        ],
    );
    let (busy, _) = get(&source, "a.txt");
    assert!(busy.starts_with("HTTP/1.1 503") && busy.contains("Retry-After: 1"), "{busy}");
    let (short, body) = get(&source, "a.txt");
    assert!(short.contains("Content-Length: 9") && body == b"the", "{short}");
    assert!(get(&source, "a.txt").0.contains("Content-Length: 1000"));
    assert_eq!(get(&source, "a.txt").1, b"uhe bytes");
    assert_eq!(get(&source, "a.txt").1, b"9\r\nthe bytes\r\n0\r\n\r\n");
    assert_eq!(get(&source, "a.txt").1, b"the bytes");

    source.fail_always("a.txt", Fault::Status(404));
    assert!((0..3).all(|_| get(&source, "a.txt").0.starts_with("HTTP/1.1 404")));
    source.fail("a.txt", [Fault::Reset(2)]);
    assert_eq!(ask(&source, "a.txt", "").unwrap_err().kind(), ErrorKind::ConnectionReset);
    source.heal();
    assert_eq!(get(&source, "a.txt").1, b"the bytes");
}

#[test]
fn it_answers_conditions_and_ranges() {
    let source = FakeSource::start().with_resources([("a.txt", "0123456789")]);
    let head = get(&source, "a.txt").0;
    let etag = head.lines().find_map(|line| line.strip_prefix("ETag: ")).unwrap().to_owned();
    let with = |headers: &str| ask(&source, "a.txt", headers).unwrap();
    assert!(with(&format!("If-None-Match: {etag}\r\n")).0.starts_with("HTTP/1.1 304"));
    assert_eq!(with(&format!("Range: bytes=4-\r\nIf-Range: {etag}\r\n")).1, b"456789");
    assert_eq!(with("Range: bytes=4-\r\nIf-Range: \"other\"\r\n").1, b"0123456789");
    assert!(with("Range: bytes=10-\r\n").0.starts_with("HTTP/1.1 416"));
    source.fail_always("a.txt", Fault::RangeShifted);
    assert_eq!(with("Range: bytes=4-5\r\n").1, b"34");
}

#[test]
fn ten_thousand_random_documents_read_back_as_written() {
    let mut random = generate::seeded(1);
    for _ in 0..10_000 {
        let (header, entries) = generate::document(&mut random, 4);
        let mut writer = DocumentWriter::new(Vec::new(), &header, WriteOptions::unchecked()).unwrap();
        entries.iter().for_each(|entry| writer.write_entry(entry).unwrap());
        let bytes = writer.finish().unwrap();
        let mut reader = DocumentReader::new(bytes.as_slice(), ReadOptions::new()).unwrap();
        let again: Vec<_> = reader.entries().collect::<Result<_, _>>().unwrap();
        assert_eq!((reader.header(), &again), (&header, &entries));
    }
}

#[test]
fn a_test_clock_moves_only_when_told() {
    let clock = TestClock::new();
    let before = clock.now();
    assert_eq!(before, clock.clone().now());
    assert!(clock.advance(1) > before && clock.advance(-2) < before);
}
