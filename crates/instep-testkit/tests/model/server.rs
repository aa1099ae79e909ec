//! A small HTTP server for the pages of a generated Source. It damages some of them, and can end a run.

mod answers;

use std::{
    collections::BTreeMap,
    net::{TcpListener, TcpStream},
    process::Child,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use answers::converse;
use instep_destination::Shutdown;

use crate::{habits::Habits, oddities::Oddities};

/// The fault of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Break {
    /// The answer is 404.
    Missing,
    /// The answer is 500.
    Failing,
    /// The last bytes are missing, and `Content-Length` agrees.
    CutOff,
    /// The connection ends in the middle of the body.
    Interrupted,
    /// Only the first half is sent, and `Content-Length` agrees.
    Halved,
    /// An HTML page is sent in its place.
    Replaced,
    /// An empty body is sent, with status 200.
    Emptied,
}

impl Break {
    /// The ways to break a document.
    pub(crate) const DOCUMENT: [Self; 4] = [Self::Missing, Self::Failing, Self::CutOff, Self::Interrupted];
    /// Further ways to break a document, which the habits of a server may have.
    pub(crate) const TRUNCATED: [Self; 3] = [Self::Halved, Self::Replaced, Self::Emptied];
    /// The ways to break a resource. It is never cut off with a matching length, because that would be another version
    /// of it.
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

/// The way in which a run ends early.
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
    /// The folder of the pages that are on the other host.
    elsewhere: String,
    /// The Source's time, in microseconds.
    now: i64,
    /// The time at which each page last changed.
    modified: BTreeMap<String, i64>,
    ended: bool,
    log: Vec<String>,
    /// The number of requests after which a run is ended, and the way.
    end: Option<(usize, End)>,
    refuses: bool,
}

impl Pages {
    fn note(&mut self, request: String) {
        self.log.push(request);
        match self.end.take_if(|(requests, _)| *requests <= self.log.len()) {
            Some((_, End::Stop(run))) => run.request(),
            Some((_, End::Refusal)) => self.refuses = true,
            // An error means that the process has ended already.
            Some((_, End::Kill(run))) => drop(run.lock().unwrap().kill()),
            None => {}
        }
    }
}

/// A server on a free port of the loopback address, which ends when this value is dropped.
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

    /// Returns the folder of resources on the other host, in the copy and among the pages.
    pub(crate) fn elsewhere(&self) -> String {
        self.shared.lock().unwrap().elsewhere.clone()
    }

    /// Serves these pages from now on, some of them damaged.
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

    /// Ends a run after this number of further requests.
    pub(crate) fn end_after(&self, requests: usize, end: End) {
        let mut shared = self.shared.lock().unwrap();
        shared.end = Some((shared.log.len() + requests, end));
    }

    /// Stops refusing requests.
    pub(crate) fn recover(&self) {
        let mut shared = self.shared.lock().unwrap();
        (shared.end, shared.refuses) = (None, false);
    }

    /// Returns the requests since the pages were last replaced, each with its status.
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
