//! An OAI-PMH repository on a loopback port, with faults on request.

mod answer;
mod layout;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use layout::RepositoryState;
pub use layout::{FakeRecord, RepositoryFault, RepositoryLayout};

/// An OAI-PMH repository that answers correctly over the given records, logs its requests, and simulates faults on
/// request. It ends when dropped.
pub struct FakeRepository {
    state: Arc<Mutex<RepositoryState>>,
    host: String,
}

impl FakeRepository {
    /// Starts it on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// If there is none.
    pub fn start(layout: RepositoryLayout) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback address");
        let host = listener.local_addr().expect("a bound address").to_string();
        let state = Arc::new(Mutex::new(RepositoryState { layout, ..RepositoryState::default() }));
        let (shared, base) = (Arc::clone(&state), format!("http://{host}/oai"));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if lock(&shared).has_ended {
                    return;
                }
                let (shared, base) = (Arc::clone(&shared), base.clone());
                // Tests also cover clients that disconnect.
                thread::spawn(move || converse(&stream, &shared, &base));
            }
        });
        Self { state, host }
    }

    /// Returns a repository with this many records, a second between their datestamps.
    pub fn with_records(count: usize) -> Self {
        let record = |number: usize| {
            let datestamp =
                format!("2026-01-01T{:02}:{:02}:{:02}Z", number / 3600, number / 60 % 60, number % 60);
            FakeRecord::new(&format!("oai:fake:{number:06}"), &datestamp, &format!("Title {number}"))
        };
        let records = (0..count).map(record).collect();
        Self::start(RepositoryLayout { records, ..RepositoryLayout::default() })
    }

    /// Returns the URL of a harvest, with arguments such as `set=a`.
    pub fn url(&self, arguments: &str) -> String {
        format!("oai+http://{}/oai?{arguments}", self.host)
    }

    /// Returns the URL of a file beside the repository.
    pub fn file_url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.host)
    }

    /// Changes records or behaviour.
    pub fn edit<T>(&self, change: impl FnOnce(&mut RepositoryLayout) -> T) -> T {
        change(&mut lock(&self.state).layout)
    }

    /// Sets faults of the next answers to requests with this text in their query, without escapes; one fault each.
    pub fn fail(&self, request: &str, faults: impl IntoIterator<Item = RepositoryFault>) {
        lock(&self.state).faults.push((request.to_owned(), faults.into_iter().collect()));
    }

    /// Ends all faults.
    pub fn heal(&self) {
        lock(&self.state).faults.clear();
    }

    /// Forgets the tokens given out until now.
    pub fn expire_tokens(&self) {
        lock(&self.state).expiries += 1;
    }

    /// Returns the queries of the requests since the last call, in order.
    pub fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.state).log)
    }
}

impl std::fmt::Debug for FakeRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FakeRepository").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Drop for FakeRepository {
    fn drop(&mut self) {
        lock(&self.state).has_ended = true;
        drop(TcpStream::connect(&self.host));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers request after request on one connection.
fn converse(mut stream: &TcpStream, state: &Mutex<RepositoryState>, base: &str) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).ok()? == 0 {
            return None;
        }
        let target = first.split_ascii_whitespace().nth(1)?.to_owned();
        let mut accepts_gzip = false;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            accepts_gzip |= line.starts_with("accept-encoding:") && line.contains("gzip");
        }
        let answer = answer::answer(&mut lock(state), &target, base, accepts_gzip)?;
        stream.write_all(&answer).ok()?;
    }
}
