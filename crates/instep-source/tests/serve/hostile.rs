//! Rows S1, S2, S10 and S14 of the threats.

use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::symlink,
    time::Duration,
};

use instep_testkit::wait_until;

use super::{
    raw::{self, get, request},
    server::{Server, folder},
};

#[test]
fn s1_nothing_outside_of_what_is_published_is_served() {
    let outside = folder(&[("secret.txt", b"outside")]);
    let files = folder(&[
        ("a/b.txt", b"inside"),
        (".hidden/x", b"hidden"),
        (".env", b"hidden"),
        ("back~", b"hidden"),
    ]);
    symlink(outside.path(), files.path().join("link")).unwrap();
    symlink(outside.path().join("secret.txt"), files.path().join("secret.txt")).unwrap();
    let name = outside.path().to_str().unwrap().trim_start_matches('/').to_owned();
    let server = Server::with(files, |_| ());
    assert_eq!(get(server.address, "/a/b.txt").body, b"inside");
    let up = "../".repeat(12);
    let targets = [
        format!("/{up}{name}/secret.txt"),
        format!("/a/{up}{name}/secret.txt"),
        format!("/{}{name}/secret.txt", "%2e%2e/".repeat(12)),
        format!("/{}{name}/secret.txt", "%2E%2e%2f".repeat(12)),
        format!("/{}{name}/secret.txt", "..%5c".repeat(12)),
        format!("/{}{name}/secret.txt", "..\\".repeat(12)),
        format!("//{name}/secret.txt"),
        format!("/%2f{name}/secret.txt"),
        format!("/%252e%252e/{name}/secret.txt"),
        format!("/..%c0%af..%c0%af{name}/secret.txt"),
        "/link/secret.txt".to_owned(),
        "/secret.txt".to_owned(),
        "/link".to_owned(),
        "/link/".to_owned(),
        "/.env".to_owned(),
        "/%2eenv".to_owned(),
        "/.hidden/x".to_owned(),
        "/a/../.env".to_owned(),
        "/.instep/catalogue.db".to_owned(),
        "/.instep/lock".to_owned(),
        "/.instep/documents/resourcesync/capabilitylist.xml".to_owned(),
        "/%2einstep/catalogue.db".to_owned(),
        "/back~".to_owned(),
        "/a/b.txt%00.html".to_owned(),
        "/a/b.txt%00".to_owned(),
        "/a/b.txt/".to_owned(),
        "/a//b.txt".to_owned(),
        "/a/./b.txt".to_owned(),
        "/C:/a/b.txt".to_owned(),
        "/a".to_owned(),
        "/a/".to_owned(),
        "/resourcesync/../.env".to_owned(),
        "/.well-known/../.env".to_owned(),
        "/.well-known/".to_owned(),
    ];
    assert!(targets.len() >= 30);
    for target in targets {
        let answer = get(server.address, &target);
        assert_eq!(answer.status, 404, "{target}");
        assert!(answer.body.is_empty(), "{target}: {}", answer.text());
    }
}

#[test]
fn s1_an_absolute_target_and_a_link_that_appears_later_lead_nowhere() {
    let outside = folder(&[("secret.txt", b"outside")]);
    let server = Server::start(&[("a.txt", b"inside"), ("b.txt", b"inside")]);
    let absolute = format!("http://{}/../etc/passwd", server.address);
    assert_eq!(get(server.address, &absolute).status, 404);
    fs::remove_file(server.path("a.txt")).unwrap();
    symlink(outside.path().join("secret.txt"), server.path("a.txt")).unwrap();
    let answer = get(server.address, "/a.txt");
    assert_eq!((answer.status, answer.body.len()), (404, 0));
}

#[test]
fn s2_the_host_of_a_request_is_in_no_answer() {
    let server = Server::with(folder(&[("a.txt", b"a"), ("d/index.html", b"d")]), |options| {
        options.publish.base_url = "http://source.example/".to_owned();
    });
    // It is built after the first publication, and changes the Capability List once.
    wait_until("the Resource Dump is offered", || {
        get(server.address, "/resourcesync/capabilitylist.xml").text().contains("\"resourcedump\"")
    });
    let claims =
        ["X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https", "Forwarded: host=evil.example"];
    let targets =
        ["/", "/a.txt", "/d", "/d/", "/status", "/robots.txt", "/.well-known/resourcesync", "/absent"];
    for target in targets.into_iter().chain(["/resourcesync/capabilitylist.xml"]) {
        let text = format!(
            "GET {target} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n{}\r\n\r\n",
            claims.join("\r\n")
        );
        let answer = raw::send(server.address, text.as_bytes());
        assert!(!String::from_utf8_lossy(&answer).contains("evil"), "{target}");
        // A cache may keep what one client got for all others: it is the same.
        let (misled, plain) = (raw::answer(&answer).unwrap(), get(server.address, target));
        for name in ["etag", "cache-control", "vary", "location", "link"] {
            assert_eq!(misled.header(name), plain.header(name), "{target}: {name}");
        }
        // These two show the progress of the Source at this moment.
        if !["/", "/status"].contains(&target) {
            assert_eq!((misled.status, misled.body), (plain.status, plain.body), "{target}");
        }
    }
}

#[test]
fn s2_a_strict_source_refuses_other_hosts() {
    let server = Server::with(folder(&[("a.txt", b"a")]), |options| options.strict_host = true);
    assert_eq!(get(server.address, "/a.txt").status, 200);
    let text = "GET /a.txt HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    let answer = raw::answer(&raw::send(server.address, text.as_bytes())).unwrap();
    assert_eq!((answer.status, answer.body.len()), (421, 0));
}

#[test]
fn s10_a_client_that_does_not_finish_its_headers_loses_its_connection() {
    let server = Server::with(folder(&[("a.txt", b"a")]), |options| {
        options.limits.header_timeout = Duration::from_millis(300);
    });
    let mut slow = raw::connect(server.address);
    slow.write_all(b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nX-Slow: ").unwrap();
    let mut answer = Vec::new();
    let _ = slow.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/1.1 200"));
    assert_eq!(get(server.address, "/a.txt").status, 200);
}

#[test]
fn s10_idle_connections_do_not_keep_others_out() {
    let server = Server::start(&[("a.txt", b"a")]);
    let idle: Vec<_> = (0..200).map(|_| raw::connect(server.address)).collect();
    assert_eq!(get(server.address, "/a.txt").status, 200);
    drop(idle);
}

#[test]
fn s10_header_bombs_are_refused() {
    let server = Server::start(&[("a.txt", b"a")]);
    let one = format!("X: {}", "x".repeat(200 * 1024));
    let many: Vec<String> = (0..500).map(|number| format!("X-{number}: x")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for headers in [vec![one.as_str()], many] {
        let mut text = format!("GET /a.txt HTTP/1.1\r\nHost: {}\r\n", server.address);
        text.push_str(&headers.join("\r\n"));
        text.push_str("\r\n\r\n");
        let mut stream = raw::connect(server.address);
        // The server may close before everything is sent.
        let _ = stream.write_all(text.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
    }
    assert_eq!(get(server.address, "/a.txt").status, 200);
}

#[test]
fn s14_ambiguous_requests_are_refused_and_their_connection_closed() {
    let server = Server::start(&[("a.txt", b"a"), ("b.txt", b"b")]);
    let smuggled = "GET /b.txt HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let ambiguous = [
        format!(
            "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{smuggled}"
        ),
        format!("GET /a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\n{smuggled}"),
        format!("GET /a.txt HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n{smuggled}"),
        format!("GET /a.txt HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked\r\n\r\n{smuggled}"),
        format!("GET /a.txt HTTP/1.1\r\nHost: localhost\r\n X: folded\r\n\r\n{smuggled}"),
        format!("GET /a.txt HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n{smuggled}"),
        format!("GET /a .txt HTTP/1.1\r\nHost: localhost\r\n\r\n{smuggled}"),
        format!(
            "POST /a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"
        ),
        format!(
            "POST /a.txt HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"
        ),
        format!(
            "POST /a.txt HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n{smuggled}"
        ),
    ];
    for text in ambiguous {
        let answer = raw::send(server.address, text.as_bytes());
        let answers = answer.windows(9).filter(|window| window == b"HTTP/1.1 ").count();
        assert!(answers <= 1, "{text:?}: {}", String::from_utf8_lossy(&answer));
        assert!(!answer.ends_with(b"b"), "{text:?}");
    }
}

#[test]
fn writing_methods_are_not_allowed() {
    let server = Server::start(&[("a.txt", b"a")]);
    for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"] {
        let answer = request(server.address, method, "/a.txt", &["Content-Length: 0"]);
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.header("allow"), Some("GET, HEAD, OPTIONS"), "{method}");
    }
}
