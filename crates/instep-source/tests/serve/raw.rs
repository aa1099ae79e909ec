//! Requests that are sent exactly as they are written here, not normalized or repaired.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// An answer, read until the server closed the connection.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Sends a request for a target; headers are lines without their line end.
pub(crate) fn request(server: SocketAddr, method: &str, target: &str, headers: &[&str]) -> Answer {
    let mut text = format!("{method} {target} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n");
    for line in headers {
        text.push_str(line);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    answer(&send(server, text.as_bytes())).unwrap_or_else(|| panic!("no answer to {method} {target}"))
}

pub(crate) fn get(server: SocketAddr, target: &str) -> Answer {
    request(server, "GET", target, &[])
}

/// Sends bytes and reads until the server closes.
pub(crate) fn send(server: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(server);
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    // A reset after the answer is as good as an end.
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// Sends bytes and reads what comes first.
pub(crate) fn send_some(server: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = connect(server);
    stream.write_all(bytes).unwrap();
    let mut answer = [0; 1024];
    let length = stream.read(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

pub(crate) fn connect(server: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Takes an answer apart.
pub(crate) fn answer(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let pair = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    Some(Answer { status, headers: lines.filter_map(pair).collect(), body: bytes[end + 4..].to_vec() })
}
