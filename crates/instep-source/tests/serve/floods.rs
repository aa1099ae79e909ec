//! Row S10: many connections, and streams of HTTP/2 that are opened only to be reset.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::Duration,
};

use super::{
    raw::{self, get},
    server::Server,
};

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// GET, http, /, and nothing else: each one byte of the static table (RFC 7541 Appendix A).
const REQUEST: [u8; 3] = [0x82, 0x86, 0x84];

#[test]
fn s10_five_thousand_idle_connections_do_not_keep_others_out() {
    let server = Server::start(&[("a.txt", b"a")]);
    let idle: Vec<_> = (0..5_000).map(|_| raw::connect(server.address)).collect();
    for _ in 0..50 {
        assert_eq!(get(server.address, "/a.txt").status, 200);
    }
    drop(idle);
    assert_eq!(get(server.address, "/a.txt").status, 200);
}

#[test]
fn s10_streams_that_are_reset_rapidly_end_their_connection() {
    let server = Server::start(&[("a.txt", b"a")]);
    let mut flood = Vec::new();
    for stream in (1..20_000).step_by(2) {
        frame(&mut flood, HEADERS, END_STREAM | END_HEADERS, stream, &REQUEST);
        frame(&mut flood, RST_STREAM, 0, stream, &8_u32.to_be_bytes());
    }
    assert!(is_sent_away(&server, &flood));
    assert_eq!(get(server.address, "/a.txt").status, 200);
}

#[test]
fn s10_headers_that_are_continued_for_ever_end_their_connection() {
    let server = Server::start(&[("a.txt", b"a")]);
    let mut flood = Vec::new();
    frame(&mut flood, HEADERS, END_STREAM, 1, &REQUEST);
    // A literal field without indexing, again and again: x: x.
    let field = [0, 1, b'x', 1, b'x'].repeat(2_000);
    for _ in 0..1_000 {
        frame(&mut flood, CONTINUATION, 0, 1, &field);
    }
    assert!(is_sent_away(&server, &flood));
    assert_eq!(get(server.address, "/a.txt").status, 200);
}

fn frame(to: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    to.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    to.extend_from_slice(&[kind, flags]);
    to.extend_from_slice(&stream.to_be_bytes());
    to.extend_from_slice(payload);
}

/// Returns `true` if the server ends a connection that sends these frames: it says so, or closes it.
fn is_sent_away(server: &Server, flood: &[u8]) -> bool {
    let mut stream = raw::connect(server.address);
    let mut beginning = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    frame(&mut beginning, SETTINGS, 0, 0, &[]);
    stream.write_all(&beginning).unwrap();
    let mut reader = stream.try_clone().unwrap();
    let answers = std::thread::spawn(move || answers(&mut reader));
    let refused = stream.write_all(flood).is_err();
    let (kinds, ended) = answers.join().unwrap();
    refused || ended || kinds.contains(&GOAWAY)
}

/// The kinds of the frames that come until GOAWAY, or until the connection ends; whether it did.
fn answers(stream: &mut TcpStream) -> (Vec<u8>, bool) {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (mut kinds, mut head) = (Vec::new(), [0; 9]);
    loop {
        match stream.read_exact(&mut head) {
            Ok(()) => {}
            // Nothing more comes, and the connection stays.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return (kinds, false);
            }
            Err(_) => return (kinds, true),
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        if stream.read_exact(&mut payload).is_err() {
            return (kinds, true);
        }
        kinds.push(head[3]);
        if head[3] == GOAWAY {
            return (kinds, false);
        }
    }
}
