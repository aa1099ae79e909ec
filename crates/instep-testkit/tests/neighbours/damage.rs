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
