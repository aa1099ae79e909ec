//! C6: connections without a request are closed, and keep no other client out.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use super::{
    raw::{self, get},
    server::{Server, folder},
    tls,
};

/// Waits until the server closes a connection; the answers that came until then.
fn closed(stream: &mut TcpStream) -> Vec<u8> {
    let (mut answer, mut buffer) = (Vec::new(), [0; 1024]);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return answer,
            Ok(length) => answer.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return answer,
            Err(error) => panic!("not closed: {error}"),
        }
    }
}

#[test]
fn c6_a_connection_without_a_first_request_is_closed() {
    let server = Server::with(folder(&[("a.txt", b"a")]), |options| {
        options.limits.header_timeout = Duration::from_millis(300);
    });
    let settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let beginnings: [&[u8]; 5] =
        [b"", b"PRI * HT", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", settings, b"GET /a.txt HTTP/1.1\r\n"];
    let mut silent = beginnings.map(|beginning| {
        let mut stream = raw::connect(server.address);
        stream.write_all(beginning).unwrap();
        stream
    });
    for stream in &mut silent {
        assert!(!closed(stream).starts_with(b"HTTP/1.1 200"));
    }
    assert_eq!(get(server.address, "/a.txt").status, 200);
}

#[test]
fn c6_nothing_in_and_nothing_after_a_handshake_is_closed() {
    let (server, _certificates) =
        tls::with(|options| options.limits.header_timeout = Duration::from_millis(300));
    closed(&mut raw::connect(server.address));
    closed(&mut tls::shake_hands(&server));
    assert!(tls::get(&server).0.starts_with("HTTP/1.1 200"));
}

#[test]
fn c6_silent_connections_keep_nobody_out() {
    let server = Server::with(folder(&[("a.txt", b"a")]), |options| options.limits.connections = 4);
    let mut silent: Vec<_> = (0..20).map(|_| raw::connect(server.address)).collect();
    assert_eq!(get(server.address, "/a.txt").status, 200);
    // The oldest gave up their places; the last ones may stay until their own time is over.
    for stream in &mut silent[..16] {
        assert!(closed(stream).is_empty());
    }
}

#[test]
fn c6_a_connection_that_has_requested_keeps_its_place_while_an_answer_is_in_flight() {
    let server = Server::with(folder(&[("a.txt", b"a")]), |options| options.limits.connections = 2);
    let mut events = raw::connect(server.address);
    write!(events, "GET /resourcesync/events HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).unwrap();
    let mut first = [0; 12];
    events.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let _silent: Vec<_> = (0..8).map(|_| raw::connect(server.address)).collect();
    assert_eq!(get(server.address, "/a.txt").status, 200);
    events.set_nonblocking(true).unwrap();
    let mut rest = [0; 4096];
    loop {
        match events.read(&mut rest) {
            Ok(0) => panic!("the answer was cut off"),
            Ok(_) => {}
            Err(error) => return assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
    }
}
