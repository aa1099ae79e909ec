//! A small server of pages that are put there, some of which it breaks.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use instep_destination::Shutdown;
use md5::{Digest as _, Md5};

/// The fault of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Break {
    Missing,
    Failing,
    /// The last bytes are lacking, and `Content-Length` says so.
    CutOff,
    /// The connection ends in the middle of the body.
    Interrupted,
}

impl Break {
    /// Ways to break a document.
    pub(crate) const DOCUMENT: [Self; 4] = [Self::Missing, Self::Failing, Self::CutOff, Self::Interrupted];
    /// Ways to break a resource: one that is cut off and says so is another resource.
    pub(crate) const RESOURCE: [Self; 3] = [Self::Missing, Self::Failing, Self::Interrupted];
}

#[derive(Debug, Default)]
struct Pages {
    pages: BTreeMap<String, Vec<u8>>,
    broken: BTreeMap<String, Break>,
    etag: bool,
    ended: bool,
    log: Vec<String>,
    /// The number of requests after which a run is stopped.
    stop: Option<(usize, Shutdown)>,
}

impl Pages {
    fn note(&mut self, request: String) {
        self.log.push(request);
        if let Some((_, run)) = self.stop.take_if(|(requests, _)| *requests <= self.log.len()) {
            run.request();
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
    pub(crate) fn start(etag: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Mutex::new(Pages { etag, ..Pages::default() }));
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

    /// Serves these pages from now on, with these of them broken.
    pub(crate) fn serve(&self, pages: BTreeMap<String, Vec<u8>>, broken: BTreeMap<String, Break>) {
        let mut shared = self.shared.lock().unwrap();
        (shared.pages, shared.broken) = (pages, broken);
        shared.log.clear();
    }

    /// Stops a run when it has made so many requests more.
    pub(crate) fn stop_after(&self, requests: usize, run: &Shutdown) {
        let mut shared = self.shared.lock().unwrap();
        shared.stop = Some((shared.log.len() + requests, run.clone()));
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

fn converse(stream: &TcpStream, pages: &Mutex<Pages>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
        let is_head = line.starts_with("HEAD");
        let mut condition = String::new();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            if header.trim().is_empty() {
                break;
            }
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("if-none-match:") {
                condition = value.trim().to_owned();
            }
        }
        let (answer, goes_on) =
            answer(&pages.lock().unwrap_or_else(PoisonError::into_inner), &path, &condition);
        let status = String::from_utf8_lossy(&answer[9..12]).into_owned();
        let head_end =
            answer.windows(4).position(|window| window == b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
        pages.lock().unwrap_or_else(PoisonError::into_inner).note(format!("{status} {path}"));
        let mut stream = stream;
        stream.write_all(if is_head { &answer[..head_end] } else { &answer })?;
        if !goes_on {
            return Ok(());
        }
    }
}

/// The bytes of an answer, and whether the connection can be used again.
fn answer(pages: &Pages, path: &str, condition: &str) -> (Vec<u8>, bool) {
    let broken = pages.broken.get(path).copied();
    let (Some(page), true) = (pages.pages.get(path), broken != Some(Break::Missing)) else {
        return (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(), true);
    };
    if broken == Some(Break::Failing) {
        return (b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n".to_vec(), true);
    }
    let cut = page.len().saturating_sub(14);
    let page = if broken == Some(Break::CutOff) { &page[..cut] } else { page };
    let tag: String = Md5::digest(page).iter().map(|byte| format!("{byte:02x}")).collect();
    if pages.etag && broken.is_none() && condition == format!("\"{tag}\"") {
        return (b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec(), true);
    }
    let etag = if pages.etag { format!("ETag: \"{tag}\"\r\n") } else { String::new() };
    let mut answer = format!("HTTP/1.1 200 OK\r\n{etag}Content-Length: {}\r\n\r\n", page.len()).into_bytes();
    let whole = broken != Some(Break::Interrupted);
    answer.extend(if whole { page } else { &page[..cut] });
    (answer, whole)
}
