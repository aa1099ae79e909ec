//! Reads requests and answers them, with the habits and oddities of the server.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    net::TcpStream,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use data_encoding::HEXLOWER;
use flate2::{Compression, write::GzEncoder};
use md5::{Digest as _, Md5};

use super::{Break, Pages};

/// The parts of a request on which its answer depends.
#[derive(Debug, Default)]
struct Asked {
    path: String,
    host: String,
    is_head: bool,
    none_match: String,
    modified_since: String,
    takes_gzip: bool,
}

/// Answers the requests of a connection until it ends.
pub(super) fn converse(stream: &TcpStream, pages: &Mutex<Pages>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
        let mut asked = Asked { path, is_head: line.starts_with("HEAD"), ..Asked::default() };
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let Some((name, value)) = header.trim().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "host" => value.trim().clone_into(&mut asked.host),
                "if-none-match" => value.trim().clone_into(&mut asked.none_match),
                "if-modified-since" => value.trim().clone_into(&mut asked.modified_since),
                "accept-encoding" => asked.takes_gzip = value.contains("gzip"),
                _ => {}
            }
        }
        let answer = answer(&pages.lock().unwrap_or_else(PoisonError::into_inner), &asked);
        let note = format!("{} {}", &answer.head[9..12], asked.path);
        pages.lock().unwrap_or_else(PoisonError::into_inner).note(note);
        let mut stream = stream;
        let body = if asked.is_head { &[][..] } else { &answer.body };
        stream.write_all(&[answer.head.as_bytes(), body].concat())?;
        if answer.is_broken_off {
            return Ok(());
        }
    }
}

struct Answer {
    head: String,
    body: Vec<u8>,
    is_broken_off: bool,
}

fn answer(pages: &Pages, asked: &Asked) -> Answer {
    let habits = &pages.habits;
    let date = if habits.dates { format!("Date: {}\r\n", http_date(pages.now)) } else { String::new() };
    let without_body = |status: &str, headers: &str| Answer {
        head: format!("HTTP/1.1 {status}\r\n{date}{headers}Content-Length: 0\r\n\r\n"),
        body: Vec::new(),
        is_broken_off: false,
    };
    if pages.refuses {
        return without_body("503 Service Unavailable", "");
    }
    let moved = asked.path.strip_prefix("moved/");
    let path = moved.unwrap_or(&asked.path);
    let is_elsewhere = asked.host.starts_with("localhost");
    let page = if is_elsewhere { format!("{}/{path}", pages.elsewhere) } else { path.to_owned() };
    let broken = pages.broken.get(&page).copied();
    let modified = http_date(pages.modified.get(&page).copied().unwrap_or(pages.now));
    let (Some(page), true) = (pages.pages.get(&page), broken != Some(Break::Missing)) else {
        return without_body("404 Not Found", "");
    };
    if habits.redirects && moved.is_none() && path.len().is_multiple_of(3) {
        let location = format!("Location: http://{}/moved/{path}\r\n", asked.host);
        return without_body("302 Found", &location);
    }
    if broken == Some(Break::Failing) {
        return without_body("500 Internal Server Error", "");
    }
    let is_whole = broken.is_none_or(|broken| broken == Break::Interrupted);
    let mut page =
        if is_whole { page.clone() } else { broken.map_or(&page[..], |one| one.of(page)).to_vec() };
    let mut headers = date.clone();
    let is_document = path.ends_with(".xml") || path.contains(".well-known");
    let oddities = &pages.oddities;
    let is_package = path.ends_with(".zip");
    if habits.gzip && asked.takes_gzip && is_document || oddities.gzip_unasked && !is_package {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&page).unwrap();
        page = encoder.finish().unwrap();
        headers += "Content-Encoding: gzip\r\n";
    }
    let tag = HEXLOWER.encode(&Md5::digest(&page));
    // With this oddity some answers have no validator, and some only one.
    let lacks = |remainder: usize| oddities.few_validators && path.len() % 4 == remainder;
    let has_tag = pages.etag && !lacks(0) && !lacks(1);
    let has_time = habits.last_modified && !lacks(0);
    if has_tag {
        let weak = if lacks(2) { "W/" } else { "" };
        headers += &format!("ETag: {weak}\"{tag}\"\r\n");
    }
    if has_time {
        headers += &format!("Last-Modified: {modified}\r\n");
    }
    let by_tag = has_tag && asked.none_match.trim_start_matches("W/") == format!("\"{tag}\"");
    let by_time = has_time && asked.none_match.is_empty() && asked.modified_since == modified;
    if broken.is_none() && (by_tag || by_time) {
        let head = format!("HTTP/1.1 304 Not Modified\r\n{headers}\r\n");
        return Answer { head, body: Vec::new(), is_broken_off: false };
    }
    let is_broken_off = broken == Some(Break::Interrupted);
    let length = page.len();
    let body = if is_broken_off { Break::Interrupted.of(&page).to_vec() } else { page };
    if oddities.chunked {
        let head = format!("HTTP/1.1 200 OK\r\n{headers}Transfer-Encoding: chunked\r\n\r\n");
        return Answer { head, body: chunked(&body, !is_broken_off), is_broken_off };
    }
    let head = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {length}\r\n\r\n");
    Answer { head, body, is_broken_off }
}

/// Returns a body in chunks. Only a complete body gets the last chunk, which marks its end.
fn chunked(body: &[u8], is_whole: bool) -> Vec<u8> {
    let mut text = Vec::new();
    for chunk in body.chunks(100) {
        text.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        text.extend(chunk);
        text.extend(b"\r\n");
    }
    if is_whole {
        text.extend(b"0\r\n\r\n");
    }
    text
}

fn http_date(micros: i64) -> String {
    let since = Duration::from_micros(u64::try_from(micros).unwrap());
    let time: SystemTime = UNIX_EPOCH + since;
    httpdate::fmt_http_date(time)
}
