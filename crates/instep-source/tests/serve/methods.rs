//! The methods of each route, and the handshake of a socket.

use instep_source::VersionOptions;

use super::{
    raw::{request, send_some},
    server::{Server, folder},
};

#[test]
fn c31_options_names_the_methods_of_every_route() {
    let server = Server::with(folder(&[("a.txt", b"a")]), |options| {
        options.publish.versions = Some(VersionOptions::default());
    });
    for (target, methods) in [
        ("/a.txt", "GET, HEAD, OPTIONS"),
        ("/resourcesync/capabilitylist.xml", "GET, HEAD, OPTIONS"),
        ("/.well-known/resourcesync", "GET, HEAD, OPTIONS"),
        ("/status", "GET, HEAD, OPTIONS"),
        ("/resourcesync/change-notification", "GET, HEAD, OPTIONS"),
        ("/resourcesync/events", "GET, HEAD, OPTIONS"),
        ("/resourcesync/timemap/a.txt", "GET, HEAD, OPTIONS"),
        ("/resourcesync/hub", "POST, OPTIONS"),
        ("/resourcesync/batch", "POST, OPTIONS"),
    ] {
        let answer = request(server.address, "OPTIONS", target, &[]);
        assert_eq!((answer.status, answer.header("allow")), (204, Some(methods)), "{target}");
        assert!(answer.body.is_empty(), "{target}: {answer:?}");
        let refused = request(server.address, "DELETE", target, &[]);
        assert_eq!((refused.status, refused.header("allow")), (405, Some(methods)), "{target}");
    }
}

#[test]
fn o107_options_of_the_server_itself_are_answered() {
    let server = Server::start(&[("a.txt", b"a")]);
    let answer = request(server.address, "OPTIONS", "*", &[]);
    assert_eq!((answer.status, answer.header("allow")), (204, Some("GET, HEAD, OPTIONS")));
}

fn handshake(server: &Server, lines: &[&str]) -> String {
    let mut text = "GET /resourcesync/change-notification HTTP/1.1\r\n".to_owned();
    text.push_str(&format!("Host: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n", server.address));
    for line in lines {
        text.push_str(&format!("{line}\r\n"));
    }
    send_some(server.address, format!("{text}\r\n").as_bytes()).to_ascii_lowercase()
}

#[test]
fn c30_a_handshake_needs_a_key_of_16_bytes_and_the_version_that_there_is() {
    const VERSION: &str = "Sec-WebSocket-Version: 13";
    const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    let server = Server::start(&[("a.txt", b"a")]);
    for key in [
        &[][..],
        &["Sec-WebSocket-Key:"],
        &["Sec-WebSocket-Key: short"],
        &["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ"],
        &["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZTE="],
        &["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j*Q=="],
        &["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZSBsb25nZXI="],
        &[KEY, KEY],
    ] {
        let answer = handshake(&server, &[key, &[VERSION]].concat());
        assert!(answer.starts_with("http/1.1 400"), "{key:?}: {answer}");
    }
    for version in [
        &[][..],
        &["Sec-WebSocket-Version: 8"],
        &["Sec-WebSocket-Version: 14"],
        &["Sec-WebSocket-Version: 13, 8"],
        &[VERSION, VERSION],
    ] {
        let answer = handshake(&server, &[version, &[KEY]].concat());
        assert!(answer.starts_with("http/1.1 426"), "{version:?}: {answer}");
        assert!(answer.contains("\r\nsec-websocket-version: 13\r\n"), "{version:?}: {answer}");
        assert!(answer.contains("\r\nupgrade: websocket\r\n"), "{version:?}: {answer}");
    }
    let answer = handshake(&server, &[KEY, VERSION]);
    assert!(answer.starts_with("http/1.1 101"), "{answer}");
    assert!(answer.contains("\r\nsec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{answer}");
    // Without the request for a socket, the fields mean nothing.
    let answer =
        request(server.address, "GET", "/resourcesync/change-notification", &["Sec-WebSocket-Version: 8"]);
    assert_eq!(answer.status, 204);
}
