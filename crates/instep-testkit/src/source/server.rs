//! HTTP/1.1 by hand, because what is tested here is what no HTTP library would write.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, BufRead, BufReader, Read},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::{
    answer, documents,
    fault::{Fault, Page},
    shelf::{Shelf, media_type},
};

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `HEAD`, ...
    pub method: String,
    /// Path and query without the leading slash, as written.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body of a POST.
    pub body: Vec<u8>,
    /// When it had been read.
    pub at: Instant,
}

impl Request {
    /// A header's value; names in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

type Rewrite = Box<dyn Fn(String) -> String + Send>;

/// The state that tests set up and read back.
#[derive(Default)]
pub(super) struct Desk {
    pub(super) pages: BTreeMap<String, Page>,
    pub(super) rewrites: BTreeMap<String, Rewrite>,
    pub(super) faults: BTreeMap<String, VecDeque<Fault>>,
    pub(super) lasting: BTreeMap<String, Fault>,
    pub(super) log: Vec<Request>,
    pub(super) connections: usize,
    pub(super) released: bool,
    ended: bool,
    open: BTreeMap<u64, TcpStream>,
}

pub(super) struct Shared {
    shelf: Mutex<Shelf>,
    desk: Mutex<Desk>,
    pub(super) bell: Condvar,
}

impl Shared {
    pub(super) fn new(shelf: Shelf) -> Self {
        Self { shelf: Mutex::new(shelf), desk: Mutex::default(), bell: Condvar::new() }
    }

    pub(super) fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right answer at a path.
    pub(super) fn document(&self, path: &str) -> Option<Page> {
        let page = self.desk().pages.get(path).cloned().or_else(|| {
            let shelf = self.shelf();
            if let Some(resource) = shelf.resources.get(path) {
                let list = shelf.uri(documents::CAPABILITY_LIST);
                let page = Page::from(resource.bytes.clone()).with_header("Content-Type", media_type(path));
                return Some(page.with_header("Link", format!("<{list}>; rel=\"resourcesync\"")));
            }
            let body = documents::render(&shelf, path)?;
            let package = path.ends_with(".zip");
            Some(
                Page::from(body)
                    .with_header("Content-Type", if package { "application/zip" } else { "application/xml" }),
            )
        })?;
        Some(match self.desk().rewrites.get(path) {
            Some(rewrite) => {
                Page { body: rewrite(String::from_utf8_lossy(&page.body).into_owned()).into_bytes(), ..page }
            }
            None => page,
        })
    }

    fn next_fault(&self, path: &str) -> Option<Fault> {
        let mut desk = self.desk();
        let scripted = desk.faults.get_mut(path).and_then(VecDeque::pop_front);
        scripted.or_else(|| desk.lasting.get(path).cloned())
    }

    pub(super) fn wait_for_release(&self) {
        let desk = self.desk();
        drop(self.bell.wait_while(desk, |desk| !desk.released && !desk.ended));
    }

    pub(super) fn wait_for(&self, path: &str, count: usize) {
        let asked = |desk: &Desk| desk.log.iter().filter(|request| request.path == path).count();
        let waited =
            self.bell.wait_timeout_while(self.desk(), Duration::from_secs(60), |desk| asked(desk) < count);
        let (desk, result) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!result.timed_out(), "{path} was asked for {} times, not {count}", asked(&desk));
    }

    pub(super) fn end(&self, host: &str) {
        let mut desk = self.desk();
        desk.ended = true;
        desk.open.values().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        drop(desk);
        self.bell.notify_all();
        drop(TcpStream::connect(host));
    }
}

/// Answers connections, a thread each, until the Source is dropped.
pub(super) fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for (number, stream) in (0..).zip(listener.incoming()) {
        let Ok(stream) = stream else { continue };
        let mut desk = shared.desk();
        if desk.ended {
            return;
        }
        desk.connections += 1;
        desk.open.extend(stream.try_clone().ok().map(|clone| (number, clone)));
        drop(desk);
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            // A client that goes away in the middle is what many tests are about.
            drop(converse(&stream, &shared));
            shared.desk().open.remove(&number);
        });
    }
}

/// Request after request on one connection.
fn converse(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader)? {
        shared.desk().log.push(request.clone());
        shared.bell.notify_all();
        let fault = shared.next_fault(&request.path);
        let page = shared.document(&request.path);
        if !answer::write(stream, &request, page, fault, shared)? {
            break;
        }
    }
    stream.shutdown(Shutdown::Write)
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_ascii_whitespace().map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length: &String| length.parse().ok()).unwrap_or(0);
    let mut body = Vec::new();
    reader.by_ref().take(length).read_to_end(&mut body)?;
    let path = target.strip_prefix('/').unwrap_or(&target).to_owned();
    Ok(Some(Request { method, path, headers, body, at: Instant::now() }))
}
