//! Archives of others that are damaged somewhere.

use std::{fs, io::Write as _};

use instep_testkit::{Run, instep};
use tempfile::TempDir;

#[test]
fn damage_in_the_middle_of_an_archive_costs_the_record_that_it_hit() {
    let record = |uri: &str| {
        format!(
            "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n\
             WARC-Target-URI: http://example.org/{uri}\r\nContent-Length: 4\r\n\r\nbody\r\n\r\n"
        )
        .into_bytes()
    };
    let gzip = |bytes: &[u8]| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    };
    let plain = ["a", "b", "c"].map(record);
    let packed = plain.each_ref().map(|record| gzip(record));
    let mut flipped = packed[1].clone();
    flipped[20..26].fill(0xff);
    let without_length =
        String::from_utf8(plain[1].clone()).unwrap().replace("Content-Length", "X").into_bytes();
    for (name, file, at) in [
        ("flipped.warc.gz", [&packed[0][..], &flipped, &packed[2]].concat(), packed[0].len()),
        ("none.warc.gz", [&packed[0][..], &gzip(b"nonsense\r\n"), &packed[2]].concat(), packed[0].len()),
        ("plain.warc", [&plain[0][..], &without_length, &plain[2]].concat(), plain[0].len() - 4),
    ] {
        let dir = TempDir::new().unwrap();
        let (data, archive) = (dir.path().join("data"), dir.path().join(name));
        fs::create_dir(&data).unwrap();
        fs::write(&archive, file).unwrap();
        let mut publish = instep(["publish", "--base-url", "http://example.org/", "--from"]);
        let run = Run::of(publish.arg(&archive).arg(&data)).with_code(3);
        let fault = format!("{name}: The record at byte {at} cannot be read");
        assert_eq!(run.stderr.matches("The record").count(), 1, "{}", run.stderr);
        assert!(run.stderr.contains(&fault), "{fault}\n{}", run.stderr);
        let list = fs::read_to_string(data.join("resourcesync/resourcelist.xml")).unwrap();
        for (path, is_listed) in [("a", true), ("b", false), ("c", true)] {
            assert_eq!(
                list.contains(&format!("<loc>http://example.org/{path}</loc>")),
                is_listed,
                "{name}: {path}"
            );
        }
    }
}

#[test]
fn b38_bytes_that_are_not_whole_or_not_those_of_the_record_are_not_published() {
    let record = |name: &str, more: &str, body: &str| {
        format!(
            "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n\
             WARC-Target-URI: http://example.org/{name}\r\n{more}Content-Length: {}\r\n\r\n{body}\r\n\r\n",
            body.len()
        )
    };
    let digest = "WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n";
    let wrong = record("wrong", digest, "no empty body");
    let cut = record("cut", "", "a body that is not all there");
    let cut = &cut[..cut.len() - 12];
    for (last, fault) in [(&*wrong, "its payload has the digest"), (cut, "is cut off")] {
        let dir = TempDir::new().unwrap();
        let (data, archive) = (dir.path().join("data"), dir.path().join("x.warc"));
        fs::create_dir(&data).unwrap();
        fs::write(&archive, [&record("empty", digest, ""), last].concat()).unwrap();
        let mut publish = instep(["publish", "--base-url", "http://example.org/", "--from"]);
        let run = Run::of(publish.arg(&archive).arg(&data)).with_code(3);
        assert!(run.stderr.contains(fault), "{}", run.stderr);
        let list = fs::read_to_string(data.join("resourcesync/resourcelist.xml")).unwrap();
        assert_eq!(list.matches("<url>").count(), 1, "{list}");
        assert!(list.contains("<loc>http://example.org/empty</loc>"), "{list}");
    }
}

/// Returns a record about a resource below `http://example.org/`.
fn record(kind: &str, name: &str, date: &str, more: &str, block: &str) -> String {
    format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: {date}\r\n\
         WARC-Target-URI: http://example.org/{name}\r\n{more}Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
}

/// Publishes an archive of records beside a good one. Returns the published texts by name, and the output.
fn published(records: &[String], code: i32) -> (Vec<(String, String)>, String) {
    let dir = TempDir::new().unwrap();
    let (data, archive) = (dir.path().join("data"), dir.path().join("x.warc"));
    fs::create_dir(&data).unwrap();
    fs::write(&archive, records.concat() + &record("resource", "good", DAY, "", "good")).unwrap();
    let mut publish = instep(["publish", "--base-url", "http://example.org/", "--from"]);
    let run = Run::of(publish.arg(&archive).arg(&data)).with_code(code);
    let manifest = fs::read_to_string(data.join(".instep/web-archive/resources.jsonl")).unwrap();
    let read = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = line["uri"].as_str().unwrap().trim_start_matches("http://example.org/").to_owned();
        (name, fs::read_to_string(line["path"].as_str().unwrap()).unwrap())
    };
    (manifest.lines().map(read).filter(|(name, _)| name != "good").collect(), run.stderr)
}

const DAY: &str = "2026-01-01T00:00:00Z";
const OK: &str = "HTTP/1.1 200 OK\r\n\r\n";

#[test]
fn o86_a_record_that_is_not_a_whole_resource_is_named_and_left_out() {
    let answer = format!("{OK}half");
    let wrong = "WARC-Block-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n";
    for (bad, fault) in [
        (record("response", "a", DAY, "WARC-Segment-Number: 1\r\n", &answer), "in several segments"),
        (record("response", "a", DAY, "", "<html>no head</html>"), "no answer of HTTP"),
        (record("response", "a", DAY, wrong, &answer), "its block has the digest"),
        (record("resource", "a", DAY, wrong, "half"), "its block has the digest"),
        (record("response", "a", "yesterday", "", &answer), "its date"),
    ] {
        let (published, output) = published(&[bad], 3);
        assert!(
            output.contains("x.warc, the record at byte 0: ") && output.contains(fault),
            "{fault}: {output}"
        );
        assert_eq!(published, [], "{fault}");
    }
}

#[test]
fn o879_each_record_of_a_gzip_member_that_cannot_be_published_is_named() {
    let mut records = ["a", "b"].map(|name| record("resource", name, "yesterday", "", "x")).concat();
    records.push_str(&record("resource", "good", DAY, "", "good"));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(records.as_bytes()).unwrap();
    let dir = TempDir::new().unwrap();
    let (data, archive) = (dir.path().join("data"), dir.path().join("x.warc.gz"));
    fs::create_dir(&data).unwrap();
    fs::write(&archive, packed.finish().unwrap()).unwrap();
    let mut publish = instep(["publish", "--base-url", "http://example.org/", "--from"]);
    let run = Run::of(publish.arg(&archive).arg(&data)).with_code(3);
    for name in ["a", "b"] {
        let fault = format!("the record at byte 0: http://example.org/{name}: its date");
        assert!(run.stderr.contains(&fault), "{fault}: {}", run.stderr);
    }
}

#[test]
fn o86_a_revisit_finds_its_body_in_a_later_record_and_by_any_digest() {
    for digest in [
        "sha1:AAF4C61DDCC5E8A2DABEDE0F3B482CD9AEA9434D",
        "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N",
        "sha-256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    ] {
        let digest = format!("WARC-Payload-Digest: {digest}\r\n");
        let records = [
            record("response", "b", DAY, "", &format!("{OK}before")),
            record("revisit", "b", "2026-02-01T00:00:00Z", &digest, OK),
            record("response", "a", DAY, &digest, &format!("{OK}hello")),
        ];
        let (published, _) = published(&records, 0);
        let expected =
            [("a", "hello"), ("b", "hello")].map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(published, expected, "{digest}");
    }
}

#[test]
fn o86_a_revisit_whose_body_is_not_in_the_archive_is_named_unless_its_state_is_known() {
    let digest = "WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n";
    let before = record("response", "a", DAY, "", &format!("{OK}before"));
    let revisit = |status: &str| {
        record("revisit", "a", "2026-02-01T00:00:00Z", digest, &format!("HTTP/1.1 {status}\r\n\r\n"))
    };
    let (published_texts, output) = published(&[before.clone(), revisit("200 OK")], 3);
    assert!(output.contains("the archive does not have the body of http://example.org/a"), "{output}");
    assert_eq!(published_texts, [("a".to_owned(), "before".to_owned())]);
    let (published_texts, _) = published(&[before, revisit("304 Not Modified")], 0);
    assert_eq!(published_texts, [("a".to_owned(), "before".to_owned())]);
    let (published_texts, _) = published(&[revisit("304 Not Modified")], 3);
    assert_eq!(published_texts, []);
}

#[test]
fn o86_the_newest_state_is_that_of_the_latest_time_and_not_of_the_longest_text() {
    let states = [("2026-01-01T00:00:00.5Z", "new"), ("2026-01-01T00:00:00Z", "old"), ("2025", "older")];
    let records = states.map(|(date, text)| record("response", "a", date, "", &format!("{OK}{text}")));
    assert_eq!(published(&records, 0).0, [("a".to_owned(), "new".to_owned())]);
}

#[test]
fn o94_a_uri_that_was_recorded_as_a_page_had_it_is_published_as_it_was_requested() {
    let records = [
        record("resource", "a b/\u{e9}?x={1}", DAY, "", "named"),
        record("resource", "a%20c", DAY, "", "encoded"),
    ];
    let (published, _) = published(&records, 0);
    let names: Vec<_> = published.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["a%20b/%C3%A9?x=%7B1%7D", "a%20c"]);
}
