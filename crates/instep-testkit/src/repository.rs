//! An OAI-PMH repository on a loopback port that does as it is told.

mod answer;

use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

/// A record of a [`FakeRepository`], in each of its formats.
#[derive(Clone, Debug, Default)]
pub struct FakeRecord {
    /// Its identifier.
    pub identifier: String,
    /// Its datestamp, as it is written; lists are in the order of the records, not of these.
    pub datestamp: String,
    /// `true` if it is listed as deleted.
    pub is_deleted: bool,
    /// Its sets.
    pub sets: Vec<String>,
    /// The content of `metadata`.
    pub metadata: String,
    /// The content of `about`; none if empty.
    pub about: String,
}

impl FakeRecord {
    /// Returns a record in Dublin Core, with a title and an identifier.
    pub fn new(identifier: &str, datestamp: &str, title: &str) -> Self {
        let metadata = format!(
            "<oai_dc:dc xmlns:oai_dc=\"http://www.openarchives.org/OAI/2.0/oai_dc/\" \
             xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><dc:title>{title}</dc:title></oai_dc:dc>"
        );
        Self {
            identifier: identifier.to_owned(),
            datestamp: datestamp.to_owned(),
            metadata,
            ..Self::default()
        }
    }
}

/// A fault of one answer.
#[derive(Clone, Debug)]
pub enum RepositoryFault {
    /// This status, with this header and a page.
    Status(u16, &'static str),
    /// Another body.
    Body(String),
    /// Each occurrence of a text in the right answer is another one.
    Replace(String, String),
    /// The right answer ends after this text.
    EndAfter(String),
    /// An error of the protocol.
    Error(&'static str),
    /// Nothing; the connection is closed.
    Close,
}

/// The content and the manners of a [`FakeRepository`].
#[derive(Clone, Debug)]
pub struct RepositoryLayout {
    /// The records, in the order of lists.
    pub records: Vec<FakeRecord>,
    /// The formats; each record has its metadata in all of them.
    pub formats: Vec<String>,
    /// Records in one response.
    pub part: usize,
    /// The text of `granularity`; datestamps in requests are compared as texts of its length.
    pub granularity: String,
    /// The text of `deletedRecord`.
    pub deleted_record: String,
    /// The clock.
    pub now: String,
    /// Compresses answers for those who accept that.
    pub gzip: bool,
    /// Files beside the repository: path and media type and bytes.
    pub files: Vec<(String, String, String)>,
}

impl Default for RepositoryLayout {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            formats: vec!["oai_dc".to_owned()],
            part: 10,
            granularity: "YYYY-MM-DDThh:mm:ssZ".to_owned(),
            deleted_record: "persistent".to_owned(),
            now: "2026-02-01T00:00:00Z".to_owned(),
            gzip: false,
            files: Vec::new(),
        }
    }
}

#[derive(Default)]
struct RepositoryState {
    layout: RepositoryLayout,
    /// The part of a query without escapes, and the faults of the next answers to such requests.
    faults: Vec<(String, VecDeque<RepositoryFault>)>,
    log: Vec<String>,
    /// Tokens that were given out before this many expiries are not known any more.
    expiries: u32,
    has_ended: bool,
}

/// An OAI-PMH repository that answers correctly over whatever records it is given, logs what it is asked, and
/// misbehaves where a test asks for that. It ends when dropped.
pub struct FakeRepository {
    state: Arc<Mutex<RepositoryState>>,
    host: String,
}

impl FakeRepository {
    /// On a free port of 127.0.0.1.
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
                // A client that goes away in the middle is what tests are about.
                thread::spawn(move || converse(&stream, &shared, &base));
            }
        });
        Self { state, host }
    }

    /// A repository with this many records, a second between their datestamps.
    pub fn with_records(count: usize) -> Self {
        let record = |number: usize| {
            let datestamp =
                format!("2026-01-01T{:02}:{:02}:{:02}Z", number / 3600, number / 60 % 60, number % 60);
            FakeRecord::new(&format!("oai:fake:{number:06}"), &datestamp, &format!("Title {number}"))
        };
        let records = (0..count).map(record).collect();
        Self::start(RepositoryLayout { records, ..RepositoryLayout::default() })
    }

    /// The URL of a harvest, with arguments such as `set=a`.
    pub fn url(&self, arguments: &str) -> String {
        format!("oai+http://{}/oai?{arguments}", self.host)
    }

    /// The URL of a file beside the repository.
    pub fn file_url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.host)
    }

    /// Changes records or manners.
    pub fn edit<T>(&self, change: impl FnOnce(&mut RepositoryLayout) -> T) -> T {
        change(&mut lock(&self.state).layout)
    }

    /// The next answers to requests that have this text in their query, without escapes, go wrong, one fault each.
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
