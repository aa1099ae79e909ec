//! A small server of pages that are put there, some of which it breaks.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    process::Child,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use flate2::{Compression, write::GzEncoder};
use instep_destination::Shutdown;
use md5::{Digest as _, Md5};

use crate::{habits::Habits, oddities::Oddities};

/// The fault of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Break {
    Missing,
    Failing,
    /// The last bytes are lacking, and `Content-Length` says so.
    CutOff,
    /// The connection ends in the middle of the body.
    Interrupted,
    /// Only the first half is there, and `Content-Length` says so.
    Halved,
    /// A page for people comes in its place.
    Replaced,
    /// Nothing comes, with status 200.
    Emptied,
}

impl Break {
    /// Ways to break a document.
    pub(crate) const DOCUMENT: [Self; 4] = [Self::Missing, Self::Failing, Self::CutOff, Self::Interrupted];
    /// Further ways to break a document.
    pub(crate) const TRUNCATED: [Self; 3] = [Self::Halved, Self::Replaced, Self::Emptied];
    /// Ways to break a resource: one that is cut off and says so is another resource.
    pub(crate) const RESOURCE: [Self; 3] = [Self::Missing, Self::Failing, Self::Interrupted];

    fn of(self, page: &[u8]) -> &[u8] {
        match self {
            Self::CutOff | Self::Interrupted => &page[..page.len().saturating_sub(14)],
            Self::Halved => &page[..page.len() / 2],
            Self::Replaced => b"<!DOCTYPE html><html><body><p>Back soon</body></html>",
            Self::Missing | Self::Failing | Self::Emptied => b"",
        }
    }
}

/// The end of what a run may have.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// The run is stopped.
    Stop(Shutdown),
    /// The server refuses everything.
    Refusal,
    /// The process of the run is killed.
    Kill(Arc<Mutex<Child>>),
}

#[derive(Debug)]
struct Pages {
    pages: BTreeMap<String, Vec<u8>>,
    broken: BTreeMap<String, Break>,
    etag: bool,
    habits: Habits,
    oddities: Oddities,
    /// The folder of what lies on the other host.
    elsewhere: String,
    /// The Source's time, in microseconds.
    now: i64,
    /// The time at which each page became what it is.
    modified: BTreeMap<String, i64>,
    ended: bool,
    log: Vec<String>,
    /// The number of requests after which a run ends.
    end: Option<(usize, End)>,
    refuses: bool,
}

impl Pages {
    fn note(&mut self, request: String) {
        self.log.push(request);
        match self.end.take_if(|(requests, _)| *requests <= self.log.len()) {
            Some((_, End::Stop(run))) => run.request(),
            Some((_, End::Refusal)) => self.refuses = true,
            // One that has ended already cannot be killed.
            Some((_, End::Kill(run))) => drop(run.lock().unwrap().kill()),
            None => {}
        }
    }
}

/// A server on a free port of the loopback address; it ends when dropped.
#[derive(Debug)]
pub(crate) struct PageServer {
    shared: Arc<Mutex<Pages>>,
    address: String,
}

impl PageServer {
    pub(crate) fn start(etag: bool, habits: Habits, oddities: Oddities) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Mutex::new(Pages {
            pages: BTreeMap::new(),
            broken: BTreeMap::new(),
            etag,
            habits,
            oddities,
            elsewhere: elsewhere(listener.local_addr().unwrap().port()),
            now: 0,
            modified: BTreeMap::new(),
            ended: false,
            log: Vec::new(),
            end: None,
            refuses: false,
        }));
        let pages = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if pages.lock().unwrap_or_else(PoisonError::into_inner).ended {
                    return;
                }
                let pages = Arc::clone(&pages);
                thread::spawn(move || drop(converse(&stream, &pages)));
            }
        });
        Self { shared, address }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The folder of the copy for what lies on the other host, and of the pages of that.
    pub(crate) fn elsewhere(&self) -> String {
        self.shared.lock().unwrap().elsewhere.clone()
    }

    /// Serves these pages from now on, with these of them broken.
    pub(crate) fn serve(&self, pages: BTreeMap<String, Vec<u8>>, broken: BTreeMap<String, Break>, now: i64) {
        let mut shared = self.shared.lock().unwrap();
        let before = std::mem::replace(&mut shared.pages, pages);
        let changed: Vec<_> =
            shared.pages.iter().filter(|(path, page)| before.get(*path) != Some(*page)).collect();
        let changed: Vec<_> = changed.into_iter().map(|(path, _)| (path.clone(), now)).collect();
        shared.modified.extend(changed);
        (shared.broken, shared.now) = (broken, now);
        shared.log.clear();
    }

    /// Ends a run when it has made so many requests more.
    pub(crate) fn end_after(&self, requests: usize, end: End) {
        let mut shared = self.shared.lock().unwrap();
        shared.end = Some((shared.log.len() + requests, end));
    }

    /// Refuses nothing more.
    pub(crate) fn recover(&self) {
        let mut shared = self.shared.lock().unwrap();
        (shared.end, shared.refuses) = (None, false);
    }

    /// The requests since the pages were put there.
    pub(crate) fn log(&self) -> Vec<String> {
        self.shared.lock().unwrap().log.clone()
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        drop(TcpStream::connect(&self.address));
    }
}

fn elsewhere(port: u16) -> String {
    format!("@localhost_{port}")
}

/// A request, as far as it matters.
#[derive(Debug, Default)]
struct Asked {
    path: String,
    host: String,
    is_head: bool,
    none_match: String,
    modified_since: String,
    takes_gzip: bool,
}

fn converse(stream: &TcpStream, pages: &Mutex<Pages>) -> io::Result<()> {
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
    let tag: String = Md5::digest(&page).iter().map(|byte| format!("{byte:02x}")).collect();
    // Some answers have neither, some one of them.
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

/// Writes a body in chunks, the last of which says that it is whole.
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
