//! One answer: correct, or with the requested fault.

use std::{
    io::{self, Write},
    net::TcpStream,
    ops::Range,
    thread,
    time::Duration,
};

use super::{
    fault::{Fault, Page},
    shared::{FakeServer, ReceivedRequest},
};

/// The way in which a body is sent.
enum Flow {
    Whole,
    Chunked,
    Endless,
    Drip(Duration),
    StallAfter(usize),
    EndAfter(usize),
    ResetAfter(usize),
}

struct FakeAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    flow: Flow,
}

/// Writes the answer. Returns `true` if the connection can be used again.
pub(super) fn write(
    stream: &TcpStream,
    request: &ReceivedRequest,
    page: Option<Page>,
    fault: Option<Fault>,
    shared: &FakeServer,
) -> io::Result<bool> {
    match fault {
        Some(Fault::Hold) => shared.wait_for_release(),
        Some(Fault::Delay(time)) => thread::sleep(time),
        Some(Fault::EndlessHeaders) => return write_endless_headers(stream),
        _ => {}
    }
    let mut answer = right_answer(request, page, fault.as_ref());
    if let Some(fault) = fault {
        answer.go_wrong(fault);
    }
    answer.send(stream, request.method == "HEAD", shared)
}

fn right_answer(request: &ReceivedRequest, page: Option<Page>, fault: Option<&Fault>) -> FakeAnswer {
    let Some(page) = page else {
        return FakeAnswer::new(404, b"nothing here\n".to_vec());
    };
    let etag = format!("\"{:.32}\"", crate::tree::digest(&page.body));
    let held = request.header("if-none-match").is_some_and(|held| held.contains(&etag));
    let mut answer = if held {
        FakeAnswer::new(304, Vec::new())
    } else {
        match requested_range(request, &etag, page.body.len(), fault) {
            None => FakeAnswer::new(200, page.body),
            Some(None) => {
                FakeAnswer::new(416, Vec::new()).with("Content-Range", format!("bytes */{}", page.body.len()))
            }
            Some(Some(range)) => partial(&page.body, range, fault),
        }
    };
    answer = answer.with("ETag", etag).with("Accept-Ranges", "bytes".into());
    page.headers.into_iter().fold(answer, |answer, (name, value)| answer.with(name, value))
}

/// Returns the requested range, with `None` inside if it cannot be satisfied.
fn requested_range(
    request: &ReceivedRequest,
    etag: &str,
    length: usize,
    fault: Option<&Fault>,
) -> Option<Option<Range<usize>>> {
    let current = request.header("if-range").is_none_or(|held| held == etag);
    if !current || matches!(fault, Some(Fault::RangeIgnored)) {
        return None;
    }
    let (first, last) = request.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
    let last = last.parse().map_or(length, |last: usize| length.min(last + 1));
    let first: usize = first.parse().ok()?;
    Some((first < last).then_some(first..last))
}

fn partial(body: &[u8], range: Range<usize>, fault: Option<&Fault>) -> FakeAnswer {
    let total = body.len();
    let shift = usize::from(matches!(fault, Some(Fault::RangeShifted)));
    let range = range.start.saturating_sub(shift)..range.end - shift;
    let stated = format!("bytes {}-{}/{total}", range.start, range.end.saturating_sub(1));
    if matches!(fault, Some(Fault::RangeMultipart)) {
        let mut parts = format!("--B\r\nContent-Range: {stated}\r\n\r\n").into_bytes();
        parts.extend(&body[range]);
        parts.extend(b"\r\n--B--\r\n");
        return FakeAnswer::new(206, parts).with("Content-Type", "multipart/byteranges; boundary=B".into());
    }
    FakeAnswer::new(206, body[range].to_vec()).with("Content-Range", stated)
}

impl FakeAnswer {
    fn new(status: u16, body: Vec<u8>) -> Self {
        let length = ("Content-Length".to_owned(), body.len().to_string());
        Self { status, headers: vec![length], body, flow: Flow::Whole }
    }

    fn with(mut self, name: &str, value: String) -> Self {
        self.set(name, value);
        self
    }

    fn set(&mut self, name: &str, value: String) {
        self.headers.retain(|(held, _)| !held.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value));
    }

    /// Replaces the answer by one with another status and a meaningless body.
    fn become_status(&mut self, status: u16) {
        *self = Self::new(status, format!("status {status}\n").into_bytes());
    }

    fn replace_body(&mut self, body: Vec<u8>) {
        self.set("Content-Length", body.len().to_string());
        self.headers.retain(|(name, _)| name != "ETag");
        self.body = body;
    }

    fn go_wrong(&mut self, fault: Fault) {
        match fault {
            Fault::Status(status) => self.become_status(status),
            Fault::StatusBeside(status) => self.status = status,
            Fault::RetryAfter(status, value) => {
                self.become_status(status);
                self.set("Retry-After", value);
            }
            Fault::Redirect(target) => self.go_wrong(Fault::RedirectAs(302, target)),
            Fault::RedirectAs(status, target) => {
                self.become_status(status);
                self.set("Location", target);
            }
            Fault::Header(name, value) => self.set(name, value),
            Fault::Body(body) => self.replace_body(body),
            Fault::Flip => self.body.iter_mut().take(1).for_each(|byte| *byte ^= 1),
            Fault::Gzip => {
                let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                coder.write_all(&self.body).expect("bytes in memory");
                self.replace_body(coder.finish().expect("bytes in memory"));
                self.set("Content-Encoding", "gzip".into());
            }
            Fault::Length(length) => {
                self.set("Content-Length", length.to_string());
                self.flow = Flow::EndAfter(self.body.len());
            }
            Fault::Truncate(bytes) => self.flow = Flow::EndAfter(bytes),
            Fault::Reset(bytes) => self.flow = Flow::ResetAfter(bytes),
            Fault::Stall(bytes) => self.flow = Flow::StallAfter(bytes),
            Fault::Drip(interval) => self.flow = Flow::Drip(interval),
            Fault::Chunked | Fault::Endless => {
                self.headers.retain(|(name, _)| name != "Content-Length");
                self.set("Transfer-Encoding", "chunked".into());
                let endless = matches!(fault, Fault::Endless);
                self.flow = if endless { Flow::Endless } else { Flow::Chunked };
            }
            Fault::Hold
            | Fault::Delay(_)
            | Fault::EndlessHeaders
            | Fault::RangeIgnored
            | Fault::RangeShifted
            | Fault::RangeMultipart => {}
        }
    }

    fn send(self, mut stream: &TcpStream, head: bool, shared: &FakeServer) -> io::Result<bool> {
        let mut lines = format!("HTTP/1.1 {} Answer\r\n", self.status);
        for (name, value) in &self.headers {
            lines.push_str(&format!("{name}: {value}\r\n"));
        }
        lines.push_str("\r\n");
        stream.write_all(lines.as_bytes())?;
        if head || self.status == 304 {
            return Ok(true);
        }
        let first = |bytes: usize| &self.body[..bytes.min(self.body.len())];
        match self.flow {
            Flow::Whole => stream.write_all(&self.body)?,
            Flow::Chunked => {
                write_chunk(stream, &self.body)?;
                stream.write_all(b"0\r\n\r\n")?;
            }
            Flow::Endless => loop {
                write_chunk(stream, if self.body.is_empty() { b" " } else { &self.body })?;
            },
            Flow::Drip(interval) => {
                for byte in &self.body {
                    stream.write_all(&[*byte])?;
                    thread::sleep(interval);
                }
            }
            Flow::StallAfter(bytes) => {
                stream.write_all(first(bytes))?;
                shared.wait_for_release();
                stream.write_all(&self.body[first(bytes).len()..])?;
            }
            Flow::EndAfter(bytes) => {
                stream.write_all(first(bytes))?;
                return Ok(false);
            }
            Flow::ResetAfter(bytes) => {
                stream.write_all(first(bytes))?;
                // Closing with this option set sends RST, not FIN.
                rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO))?;
                return Err(io::ErrorKind::ConnectionReset.into());
            }
        }
        Ok(true)
    }
}

fn write_chunk(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    write!(stream, "{:x}\r\n", bytes.len())?;
    stream.write_all(bytes)?;
    stream.write_all(b"\r\n")
}

fn write_endless_headers(mut stream: &TcpStream) -> io::Result<bool> {
    stream.write_all(b"HTTP/1.1 200 Answer\r\n")?;
    for number in 0_u64.. {
        write!(stream, "X-{number}: {}\r\n", "x".repeat(1000))?;
    }
    Ok(false)
}
