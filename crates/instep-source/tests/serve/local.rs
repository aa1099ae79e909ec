//! C8 and C18: the host that a request names, and the pages that may read the documents.

use super::{
    raw::{self, get, request},
    server::{Server, folder},
};

const LIST: &str = "/resourcesync/capabilitylist.xml";
const ALLOW_ORIGIN: &str = "access-control-allow-origin";

/// Returns the status of the answer to a request with these lines after the first.
fn status(server: &Server, version: &str, lines: &str) -> u16 {
    let text = format!("GET {LIST} HTTP/{version}\r\n{lines}Connection: close\r\n\r\n");
    raw::answer(&raw::send(server.address, text.as_bytes())).unwrap().status
}

#[test]
fn c8_a_source_on_loopback_answers_for_no_foreign_host() {
    let server = Server::start(&[("a.txt", b"a")]);
    let own = server.address.to_string();
    for host in [own.as_str(), "localhost", "localhost:9", "127.0.0.1", "[::1]:8080"] {
        assert_eq!(status(&server, "1.1", &format!("Host: {host}\r\n")), 200, "{host}");
    }
    for host in ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "192.0.2.1", ""] {
        assert_eq!(status(&server, "1.1", &format!("Host: {host}\r\n")), 421, "{host}");
    }
    let public = Server::with(folder(&[("a.txt", b"a")]), |options| {
        options.publish.base_url = "http://source.example/".to_owned();
    });
    assert_eq!(status(&public, "1.1", "Host: any.example\r\n"), 200);
}

#[test]
fn c8_pages_of_other_origins_read_a_source_on_loopback_only_if_they_are_let() {
    let origin = ["Origin: http://evil.example"];
    let files = || folder(&[("a.txt", b"a")]);
    let local = Server::with(files(), |_| ());
    let let_in = Server::with(files(), |options| options.cors = Some(true));
    let public = |cors| {
        Server::with(files(), move |options| {
            options.publish.base_url = "http://source.example/".to_owned();
            options.cors = cors;
        })
    };
    let (public, closed) = (public(None), public(Some(false)));
    for (server, allowed) in [(&local, None), (&let_in, Some("*")), (&public, Some("*")), (&closed, None)] {
        for target in [LIST, "/.well-known/resourcesync", "/robots.txt", "/resourcesync/changes"] {
            let answer = request(server.address, "GET", target, &origin);
            assert_eq!(answer.header(ALLOW_ORIGIN), allowed, "{target} of {}", server.base);
        }
        let preflight = request(server.address, "OPTIONS", LIST, &origin);
        assert_eq!((preflight.status, preflight.header(ALLOW_ORIGIN)), (204, allowed));
        assert_eq!(request(server.address, "GET", "/a.txt", &origin).header(ALLOW_ORIGIN), None);
    }
}

#[test]
fn c18_a_request_of_http_1_1_names_one_host() {
    for strict in [false, true] {
        let server = Server::with(folder(&[("a.txt", b"a")]), |options| options.strict_host = strict);
        let host = format!("Host: {}\r\n", server.address);
        assert_eq!(status(&server, "1.1", ""), 400);
        assert_eq!(status(&server, "1.1", &host.repeat(2)), 400);
        assert_eq!(status(&server, "1.1", &format!("{host}Host: evil.example\r\n")), 400);
        assert_eq!(status(&server, "1.1", &host), 200);
        assert_eq!(status(&server, "1.0", &host), 200);
    }
    let public = Server::with(folder(&[("a.txt", b"a")]), |options| {
        options.publish.base_url = "http://source.example/".to_owned();
    });
    assert_eq!(status(&public, "1.0", ""), 200);
    assert_eq!(status(&public, "1.1", ""), 400);
    assert_eq!(get(public.address, LIST).status, 200);
}
