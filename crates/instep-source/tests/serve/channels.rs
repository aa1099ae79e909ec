//! Notifications reach subscribers in time and in the form of the standard.

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    net::TcpStream,
};

use instep_testkit::LONG;
use resourcesync::{Capability, Change, DocumentReader, Entry, Header, ReadOptions, Relation};
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, client, protocol::frame::coding::CloseCode};

use super::{
    raw::{connect, get, request},
    server::{Server, folder},
};

const CHANGES: &str = "resourcesync/change-notification";
const FRAMEWORK: &str = "resourcesync/framework-notification";

fn listen(server: &Server, topic: &str) -> WebSocket<TcpStream> {
    let stream = connect(server.address);
    stream.set_read_timeout(Some(LONG)).unwrap();
    let url = format!("{}{topic}", server.base.replacen("http", "ws", 1));
    client(url, stream).unwrap().0
}

fn next(socket: &mut WebSocket<TcpStream>) -> (Header, Vec<Entry>) {
    loop {
        match socket.read().unwrap() {
            Message::Text(text) => {
                let mut reader = DocumentReader::new(text.as_bytes(), ReadOptions::new()).unwrap();
                let header = reader.header().clone();
                return (header, reader.entries().collect::<Result<_, _>>().unwrap());
            }
            Message::Ping(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_change_reaches_all_who_listen_after_its_documents_are_in_place() {
    let server = Server::start(&[("a.txt", b"a")]);
    let mut listeners: Vec<_> = (0..5).map(|_| listen(&server, CHANGES)).collect();
    fs::write(server.path("b.txt"), "b").unwrap();
    for listener in &mut listeners {
        let (header, entries) = next(listener);
        assert_eq!(header.capability(), Some(&Capability::ChangeNotification));
        let metadata = header.metadata.as_ref().unwrap();
        assert!(metadata.from.is_some() && metadata.until == entries[0].metadata.datetime);
        assert_eq!(entries[0].loc.as_str(), format!("{}b.txt", server.base));
        assert_eq!(entries[0].metadata.change, Some(Change::Created));
        assert_eq!(entries[0].metadata.length, Some(1));
    }
    let list = get(server.address, "/resourcesync/changelist-000001.xml").text();
    assert!(list.contains("b.txt"), "announced before it can be read");
}

#[test]
fn spans_join_from_one_notification_to_the_next() {
    let server = Server::start(&[("a.txt", b"a")]);
    let mut listener = listen(&server, CHANGES);
    let mut end = None;
    for text in ["1", "22", "333"] {
        fs::write(server.path("a.txt"), text).unwrap();
        let (header, _) = next(&mut listener);
        let metadata = header.metadata.unwrap();
        assert!(end.is_none() || metadata.from == end);
        end = metadata.until;
    }
}

#[test]
fn the_framework_channel_names_the_list_that_grew() {
    let server = Server::start(&[("a.txt", b"a")]);
    let mut listener = listen(&server, FRAMEWORK);
    fs::write(server.path("b.txt"), "b").unwrap();
    let list = loop {
        let (header, entries) = next(&mut listener);
        assert_eq!(header.capability(), Some(&Capability::FrameworkNotification));
        let is_list = |entry: &Entry| entry.metadata.capability == Some(Capability::ChangeList);
        if let Some(list) = entries.into_iter().find(is_list) {
            break list;
        }
    };
    assert_eq!(list.loc.as_str(), format!("{}resourcesync/changelist-000001.xml", server.base));
    assert_eq!(list.metadata.change, Some(Change::Updated));
    assert!(list.link_for(&Relation::Index).unwrap().href.as_str().ends_with("/changelist.xml"));
}

#[test]
fn a_capability_list_has_one_entry_per_channel_and_its_topic_answers() {
    let server = Server::start(&[("a.txt", b"a")]);
    let list = get(server.address, "/resourcesync/capabilitylist.xml").body;
    let mut reader = DocumentReader::new(list.as_slice(), ReadOptions::new()).unwrap();
    let entries: Vec<Entry> = reader.entries().collect::<Result<_, _>>().unwrap();
    for (capability, topic) in
        [(Capability::ChangeNotification, CHANGES), (Capability::FrameworkNotification, FRAMEWORK)]
    {
        let offered: Vec<_> =
            entries.iter().filter(|entry| entry.metadata.capability.as_ref() == Some(&capability)).collect();
        assert_eq!(offered.len(), 1);
        assert_eq!(offered[0].loc.as_str(), format!("{}{topic}", server.base));
        let socket = &offered[0].link_for(&Relation::Alternate).unwrap().href;
        assert!(socket.as_str().starts_with("ws://"));
        let answer = request(server.address, "HEAD", &format!("/{topic}"), &[]);
        let links = answer.header("link").unwrap();
        assert!(links.contains(&format!("<{}{topic}>; rel=\"self\"", server.base)), "{links}");
        assert!(links.contains("rel=\"resourcesync\""), "{links}");
    }
}

#[test]
fn the_last_notification_can_be_read_without_a_socket() {
    let server = Server::start(&[("a.txt", b"a")]);
    assert_eq!(get(server.address, &format!("/{CHANGES}")).status, 204);
    let mut listener = listen(&server, CHANGES);
    fs::write(server.path("b.txt"), "b").unwrap();
    next(&mut listener);
    let last = get(server.address, &format!("/{CHANGES}"));
    assert_eq!(last.header("content-type"), Some("application/xml"));
    assert!(last.text().contains("b.txt"));
}

#[test]
fn browsers_hear_of_changes_by_events() {
    let server = Server::start(&[("a.txt", b"a")]);
    let mut stream = connect(server.address);
    write!(stream, "GET /resourcesync/events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.by_ref().find(|line| line.is_empty()).is_some());
    fs::write(server.path("b.txt"), "b").unwrap();
    let event = lines.find(|line| line.starts_with("data:")).unwrap();
    assert!(event.contains("\"change\":\"created\"") && event.contains("b.txt"), "{event}");
}

#[test]
fn w9_who_sends_much_is_dropped() {
    let server = Server::start(&[("a.txt", b"a")]);
    let mut flood = listen(&server, CHANGES);
    for _ in 0..200 {
        if flood.send(Message::text("hello")).is_err() {
            break;
        }
    }
    let code = loop {
        match flood.read() {
            Ok(Message::Close(frame)) => break frame.map(|frame| frame.code),
            Ok(_) => {}
            Err(_) => break Some(CloseCode::Policy),
        }
    };
    assert_eq!(code, Some(CloseCode::Policy));
    let mut huge = listen(&server, CHANGES);
    let _ = huge.send(Message::text("x".repeat(1 << 20)));
    assert!(matches!(huge.read(), Err(_) | Ok(Message::Close(_))));
}

#[test]
fn c18_empty_fragments_of_a_message_that_never_ends_are_counted() {
    // A text message that goes on, and parts of it without a byte, masked as a client must.
    let first = [0x01, 0x80, 1, 2, 3, 4];
    let part = [0x00, 0x80, 1, 2, 3, 4];
    let server = Server::start(&[("a.txt", b"a")]);
    let mut flood = listen(&server, CHANGES);
    let frames: Vec<u8> = first.into_iter().chain(part.repeat(100_000)).collect();
    // The server may have closed before all of it is written.
    let _ = flood.get_mut().write_all(&frames);
    let ended = loop {
        match flood.read() {
            Ok(Message::Close(frame)) => break frame.map(|frame| frame.code) == Some(CloseCode::Policy),
            Ok(_) => {}
            Err(Error::Io(error)) => {
                break matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe);
            }
            Err(error) => break matches!(error, Error::Protocol(_)),
        }
    };
    assert!(ended, "the server goes on reading");
    // Who sends little stays.
    let mut quiet = listen(&server, CHANGES);
    quiet.send(Message::text("hello")).unwrap();
    fs::write(server.path("b.txt"), "b").unwrap();
    assert_eq!(next(&mut quiet).1.len(), 1);
}

#[test]
fn w9_a_strict_source_refuses_sockets_of_other_origins() {
    let server = Server::with(folder(&[("a.txt", b"a")]), |options| options.strict_host = true);
    let headers = [
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Origin: http://evil.example",
    ];
    let mut text = format!("GET /{CHANGES} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\n", server.address);
    for line in headers {
        text.push_str(&format!("{line}\r\n"));
    }
    let answer = super::raw::send_some(server.address, format!("{text}\r\n").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

#[test]
fn who_listens_is_told_that_the_source_ends() {
    let mut server = Server::start(&[("a.txt", b"a")]);
    let mut listener = listen(&server, CHANGES);
    assert!(server.end() < std::time::Duration::from_secs(2));
    let frame = loop {
        match listener.read().unwrap() {
            Message::Close(frame) => break frame,
            _told_before => {}
        }
    };
    assert_eq!(frame.map(|frame| frame.code), Some(CloseCode::Away));
}
