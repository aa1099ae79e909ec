//! The state of a `FakeSource`: its content, its faults, and its requests.

use std::{
    collections::{BTreeMap, VecDeque},
    net::{Shutdown, TcpStream},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{
    documents,
    fault::{Fault, Page},
    packages,
    shelf::{FakeShelf, media_type},
};

/// One request as it came.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// `GET`, `HEAD`, ...
    pub method: String,
    /// Path and query without the leading slash, as written.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body of a POST.
    pub body: Vec<u8>,
    /// The time at which it had been read.
    pub at: Instant,
}

impl ReceivedRequest {
    /// Returns a header's value; names in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

type Rewrite = Box<dyn Fn(String) -> String + Send>;

/// The state that tests set up and read back.
#[derive(Default)]
pub(super) struct Script {
    pub(super) pages: BTreeMap<String, Page>,
    pub(super) rewrites: BTreeMap<String, Rewrite>,
    pub(super) faults: BTreeMap<String, VecDeque<Fault>>,
    pub(super) lasting: BTreeMap<String, Fault>,
    pub(super) log: Vec<ReceivedRequest>,
    pub(super) connections: usize,
    /// Requests that are not answered yet.
    pub(super) under_way: usize,
    /// The most of them at a time.
    pub(super) most_under_way: usize,
    pub(super) released: bool,
    pub(super) ended: bool,
    pub(super) open: BTreeMap<u64, TcpStream>,
}

/// A Source as its connections and its tests share it.
pub(super) struct FakeServer {
    shelf: Mutex<FakeShelf>,
    script: Mutex<Script>,
    pub(super) bell: Condvar,
}

impl FakeServer {
    pub(super) fn new(shelf: FakeShelf) -> Self {
        Self { shelf: Mutex::new(shelf), script: Mutex::default(), bell: Condvar::new() }
    }

    pub(super) fn shelf(&self) -> MutexGuard<'_, FakeShelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the right answer at a path.
    pub(super) fn document(&self, path: &str) -> Option<Page> {
        let page = self.script().pages.get(path).cloned().or_else(|| {
            let shelf = self.shelf();
            if let Some(resource) = shelf.resources.get(path) {
                let list = shelf.uri(documents::CAPABILITY_LIST);
                let page = Page::from(resource.bytes.clone()).with_header("Content-Type", media_type(path));
                return Some(page.with_header("Link", format!("<{list}>; rel=\"resourcesync\"")));
            }
            let body = documents::render(&shelf, path).or_else(|| packages::render(&shelf, path))?;
            let package = path.ends_with(".zip");
            Some(
                Page::from(body)
                    .with_header("Content-Type", if package { "application/zip" } else { "application/xml" }),
            )
        })?;
        Some(match self.script().rewrites.get(path) {
            Some(rewrite) => {
                Page { body: rewrite(String::from_utf8_lossy(&page.body).into_owned()).into_bytes(), ..page }
            }
            None => page,
        })
    }

    /// Notes a request that has come.
    pub(super) fn begin(&self, request: ReceivedRequest) {
        let mut script = self.script();
        script.log.push(request);
        script.under_way += 1;
        script.most_under_way = script.most_under_way.max(script.under_way);
        drop(script);
        self.bell.notify_all();
    }

    pub(super) fn next_fault(&self, path: &str) -> Option<Fault> {
        let mut script = self.script();
        let scripted = script.faults.get_mut(path).and_then(VecDeque::pop_front);
        scripted.or_else(|| script.lasting.get(path).cloned())
    }

    pub(super) fn wait_for_release(&self) {
        let script = self.script();
        drop(self.bell.wait_while(script, |script| !script.released && !script.ended));
    }

    pub(super) fn wait_for(&self, path: &str, count: usize) {
        let asked = |script: &Script| script.log.iter().filter(|request| request.path == path).count();
        let waited = self
            .bell
            .wait_timeout_while(self.script(), Duration::from_secs(60), |script| asked(script) < count);
        let (script, result) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!result.timed_out(), "{path} was asked for {} times, not {count}", asked(&script));
    }

    pub(super) fn end(&self, host: &str) {
        let mut script = self.script();
        script.ended = true;
        script.open.values().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        drop(script);
        self.bell.notify_all();
        drop(TcpStream::connect(host));
    }
}
