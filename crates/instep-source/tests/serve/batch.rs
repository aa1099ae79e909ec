//! Many resources in one answer.

use std::{
    fs,
    io::{Cursor, Read, Write},
    net::SocketAddr,
    thread,
};

use resourcesync::{
    Capability, Change, Entry, ReadOptions, Relation,
    document::Document,
    package::{Package, PackageLimits},
};

use super::{
    raw::{Answer, get, send},
    server::Server,
};

const ENDPOINT: &str = "/resourcesync/batch";

fn post(server: &Server, body: &str) -> Answer {
    post_to(server.address, body)
}

fn post_to(address: SocketAddr, body: &str) -> Answer {
    let head = format!("POST {ENDPOINT} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    let text =
        format!("{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    super::raw::answer(&send(address, text.as_bytes())).unwrap()
}

/// Returns the manifest of a package, and its bitstreams in the same order.
fn unpack(answer: &Answer) -> (Document, Vec<(Entry, Vec<u8>)>) {
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("application/zip")),
        "{}",
        answer.text()
    );
    let mut package = Package::open(Cursor::new(answer.body.clone()), PackageLimits::new()).unwrap();
    let manifest = package.read_manifest(ReadOptions::new()).unwrap();
    let entries = manifest.entries().to_vec();
    let with_bytes = |entry: Entry| {
        let mut bytes = Vec::new();
        if let Some(path) = &entry.metadata.path {
            std::io::copy(&mut package.bitstream(path).unwrap(), &mut bytes).unwrap();
        }
        (entry, bytes)
    };
    (manifest, entries.into_iter().map(with_bytes).collect())
}

#[test]
fn chosen_resources_come_in_one_package() {
    let server = Server::start(&[("a.txt", b"aaa"), ("b c.txt", b"bbb"), ("d.txt", b"ddd")]);
    let answer = post(&server, &format!("[\"{0}a.txt\",\"{0}b%20c.txt\"]", server.base));
    let (manifest, members) = unpack(&answer);
    assert_eq!(manifest.header().capability(), Some(&Capability::ResourceDumpManifest));
    let found: Vec<_> = members.iter().map(|(entry, bytes)| (entry.loc.as_str(), bytes.as_slice())).collect();
    let (a, b) = (format!("{}a.txt", server.base), format!("{}b%20c.txt", server.base));
    assert_eq!(found, [(a.as_str(), &b"aaa"[..]), (b.as_str(), &b"bbb"[..])]);
}

#[test]
fn what_changed_since_a_time_comes_with_its_deletions() {
    let server = Server::start(&[("a.txt", b"a"), ("gone.txt", b"gone")]);
    let list = get(server.address, "/resourcesync/changelist-000001.xml").text();
    let from = list.split("from=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    fs::remove_file(server.path("gone.txt")).unwrap();
    fs::write(server.path("new.txt"), "new").unwrap();
    server.wait_for_change("new.txt");
    server.wait_for_change("gone.txt");
    let (manifest, members) = unpack(&post(&server, &format!("{{\"since\":\"{from}\"}}")));
    assert_eq!(manifest.header().capability(), Some(&Capability::ChangeDumpManifest));
    assert_eq!(manifest.header().metadata.as_ref().unwrap().from.unwrap().to_string(), from);
    let mut changes: Vec<_> = members
        .iter()
        .map(|(entry, bytes)| (entry.metadata.change.clone().unwrap(), bytes.as_slice()))
        .collect();
    changes.sort();
    assert_eq!(changes, [(Change::Created, &b"new"[..]), (Change::Deleted, &b""[..])]);
}

#[test]
fn nothing_has_changed_since_a_time_to_come() {
    let server = Server::start(&[("a.txt", b"a")]);
    let (manifest, members) = unpack(&post(&server, r#"{"since":"2999-01-01T00:00:00Z"}"#));
    let metadata = manifest.header().metadata.as_ref().unwrap();
    assert!(members.is_empty() && metadata.from == metadata.until && metadata.until.is_some());
}

#[test]
fn what_cannot_be_given_is_refused_with_the_reason() {
    let server = Server::start(&[("a.txt", b"a")]);
    let unknown = post(&server, &format!("[\"{0}a.txt\",\"{0}absent\"]", server.base));
    assert_eq!(unknown.status, 422);
    assert!(unknown.text().contains("absent") && !unknown.text().contains("a.txt"), "{}", unknown.text());
    let many: Vec<String> = (0..10_001).map(|number| format!("\"http://x/{number}\"")).collect();
    assert_eq!(post(&server, &format!("[{}]", many.join(","))).status, 413);
    assert_eq!(post(&server, "[\"not a uri\"]").status, 422);
    for wrong in ["", "nonsense", "{}", "[1]", "{\"since\":\"yesterday\"}"] {
        assert_eq!(post(&server, wrong).status, 400, "{wrong}");
    }
    assert_eq!(post(&server, "{\"since\":\"1990-01-01T00:00:00Z\"}").status, 422);
    assert_eq!(get(server.address, ENDPOINT).status, 405);
}

#[test]
fn s9_requests_at_the_same_time_share_what_is_built() {
    let server = Server::start(&[("a.txt", &[b'a'; 100_000]), ("b.txt", &[b'b'; 100_000])]);
    let body = format!("[\"{0}a.txt\",\"{0}b.txt\"]", server.base);
    let address = server.address;
    let answers: Vec<Answer> = thread::scope(|scope| {
        let requests: Vec<_> = (0..100).map(|_| scope.spawn(|| post_to(address, &body))).collect();
        requests.into_iter().map(|request| request.join().unwrap()).collect()
    });
    for answer in &answers {
        match answer.status {
            200 => assert_eq!(answer.body, answers.iter().find(|other| other.status == 200).unwrap().body),
            status => assert_eq!((status, answer.header("retry-after")), (503, Some("5"))),
        }
    }
    assert!(answers.iter().any(|answer| answer.status == 200));
}

#[test]
fn c7_the_bodies_that_are_read_at_a_time_are_bounded_and_small_requests_are_still_answered() {
    let server = Server::start(&[("a.txt", b"a")]);
    let head = |length: usize| {
        format!(
            "POST {ENDPOINT} HTTP/1.1\r\nHost: {}\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n\r\n",
            server.address
        )
    };
    // A client is asked for its body only when it was admitted.
    let begin = |length| {
        let mut stream = super::raw::connect(server.address);
        stream.write_all(head(length).as_bytes()).unwrap();
        let mut answer = [0; 1_024];
        let read = stream.read(&mut answer).unwrap();
        (stream, String::from_utf8_lossy(&answer[..read]).into_owned())
    };
    let held: Vec<_> = (0..3).map(|_| begin(4 << 20)).collect();
    assert!(held.iter().all(|(_, answer)| answer.starts_with("HTTP/1.1 100")), "{held:?}");
    let (_, answer) = begin(4 << 20);
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after: 5"), "{answer}");
    assert!(begin((4 << 20) + 1).1.starts_with("HTTP/1.1 413"));
    unpack(&post(&server, &format!("[\"{}a.txt\"]", server.base)));
}

#[test]
fn the_capability_list_leads_to_the_endpoint() {
    let server = Server::start(&[("a.txt", b"a")]);
    let list = get(server.address, "/resourcesync/capabilitylist.xml").text();
    let endpoint = format!("{}resourcesync/batch", server.base);
    assert!(list.contains(Relation::BATCH) && list.contains(&endpoint), "{list}");
}
