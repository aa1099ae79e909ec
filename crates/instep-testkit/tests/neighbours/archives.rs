//! Archives of others whose records have to be understood together, or are not all that they state.

use std::{fs, io::Write as _, path::Path};

use instep_testkit::{Run, instep};
use tempfile::TempDir;

const URI: &str = "http://example.org/form";

/// Returns a record at a second, with further fields.
fn record(kind: &str, id: u8, second: u8, fields: &str, block: &str) -> String {
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:x:{id}>\r\nWARC-Date: 2026-01-01T00:00:0{second}Z\r\n\
         WARC-Target-URI: {URI}\r\n{fields}Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
}

fn answer(id: u8, second: u8, fields: &str, body: &str) -> String {
    record(
        "response",
        id,
        second,
        fields,
        &format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{body}"),
    )
}

fn request(id: u8, second: u8, fields: &str, method: &str) -> String {
    record("request", id, second, fields, &format!("{method} /form HTTP/1.1\r\nHost: example.org\r\n\r\n"))
}

/// Publishes an archive; returns the run and the text of the Resource List.
fn publish(dir: &Path, name: &str, archive: &[u8], code: i32) -> (Run, String) {
    let (data, file) = (dir.join("data"), dir.join(name));
    fs::create_dir_all(&data).unwrap();
    fs::write(&file, archive).unwrap();
    let mut command = instep(["publish", "--base-url", "http://example.org/", "--from"]);
    let run = Run::of(command.arg(&file).arg(&data)).with_code(code);
    (run, fs::read_to_string(data.join("resourcesync/resourcelist.xml")).unwrap_or_default())
}

#[test]
fn o234_the_answer_to_another_request_than_get_is_no_state_of_the_resource() {
    let concurrent = |id: u8| format!("WARC-Concurrent-To: <urn:x:{id}>\r\n");
    let page = answer(1, 1, "", "the page");
    let other = |fields: &str| answer(2, 2, fields, "the answer to POST");
    for exchange in [
        [other(""), request(3, 2, &concurrent(2), "POST")],
        [request(3, 2, &concurrent(2), "POST"), other("")],
        [request(3, 2, "", "PUT"), other(&concurrent(3))],
        // Writers that do not link records.
        [request(3, 2, "", "HEAD"), other("")],
        [
            record("response", 2, 2, "", "HTTP/1.1 404 Not Found\r\n\r\n"),
            request(3, 2, &concurrent(2), "POST"),
        ],
    ] {
        let archive = format!("{page}{}", exchange.concat());
        let (_, list) = publish(TempDir::new().unwrap().path(), "a.warc", archive.as_bytes(), 0);
        assert!(list.contains("length=\"8\""), "{archive}\n{list}");
    }
    // A GET of the same second is not concerned: the records are linked.
    let archive = [
        other(""),
        request(3, 2, &concurrent(2), "POST"),
        answer(4, 2, &concurrent(5), "after it"),
        request(5, 2, &concurrent(4), "GET"),
    ];
    let (_, list) = publish(TempDir::new().unwrap().path(), "a.warc", archive.concat().as_bytes(), 0);
    assert!(list.contains("length=\"8\""), "{list}");
}

#[test]
fn o235_a_digest_in_sha_256_is_compared_too() {
    let right =
        "WARC-Payload-Digest: sha256:810ff2fb242a5dee4220f2cb0e6a519891fb67f2f828a6cab4ef8894633b1f50\r\n";
    let (_, list) =
        publish(TempDir::new().unwrap().path(), "a.warc", answer(1, 1, right, "testdata").as_bytes(), 0);
    assert!(list.contains("length=\"8\""), "{list}");
    for fields in [right.to_owned(), right.replace("Payload", "Block")] {
        let archive = answer(1, 1, &fields, "testdatA");
        let (run, list) = publish(TempDir::new().unwrap().path(), "a.warc", archive.as_bytes(), 2);
        assert!(run.stderr.contains("instead of sha256:810ff2fb") && list.is_empty(), "{}", run.stderr);
    }
}

#[test]
fn o236_a_record_whose_gzip_member_has_a_wrong_checksum_is_not_published() {
    let member = |text: String| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    let mut damaged = member(answer(2, 2, "", "damaged on the disk"));
    let checksum = damaged.len() - 8;
    damaged[checksum] ^= 1;
    let archive = [member(answer(1, 1, "", "the page")), damaged].concat();
    let (run, list) = publish(TempDir::new().unwrap().path(), "a.warc.gz", &archive, 3);
    assert!(run.stderr.contains("is damaged") && run.stderr.contains("checksum"), "{}", run.stderr);
    assert!(list.contains("length=\"8\""), "{list}");
}

#[test]
fn o237_a_body_that_is_shorter_than_its_answer_states_is_incomplete() {
    let cut = record("response", 2, 2, "", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly a part");
    let archive = format!("{}{cut}", answer(1, 1, "", "the page"));
    let (run, list) = publish(TempDir::new().unwrap().path(), "a.warc", archive.as_bytes(), 3);
    assert!(run.stderr.contains("is incomplete: it has 11 of 100 bytes"), "{}", run.stderr);
    assert!(list.contains("length=\"8\""), "{list}");
}

#[test]
fn o245_an_archive_of_another_site_says_which_one() {
    let archive = answer(1, 1, "", "the page").replace("http://example.org", "https://example.org");
    let (run, _) = publish(TempDir::new().unwrap().path(), "a.warc", archive.as_bytes(), 2);
    assert!(run.stderr.contains("but https://example.org/form, for example"), "{}", run.stderr);
}
