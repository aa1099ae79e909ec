//! The visit that a record is about: the URI, the time, and the request that was answered.

use std::io::{self, BufRead, Read as _};

use instep_warc::WarcHead;
use rusqlite::params;

use super::states::States;

/// Bytes of the first line of a request, as far as its method.
const MOST_METHOD: u64 = 64;

/// A visit of a resource.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    pub(super) uri: String,
    /// In microseconds since 1970.
    pub(super) date: i64,
    /// The texts by which the request of its exchange is known, one per line.
    pub(super) keys: String,
}

impl Visit {
    /// Returns the visit that the head of a record describes.
    pub(super) fn new(uri: String, date: i64, head: &WarcHead) -> Self {
        Self { uri, date, keys: keys(head).join("\n") }
    }
}

impl States {
    /// Notes a request with another method than `GET`: its answer is no state of the resource.
    ///
    /// # Errors
    /// If the archive cannot be read, or the temporary database fails.
    pub(super) fn take_request(&self, head: &WarcHead, block: &mut dyn BufRead) -> io::Result<()> {
        let mut method = Vec::new();
        let mut block = block;
        (&mut block).take(MOST_METHOD).read_until(b' ', &mut method)?;
        if method == b"GET " || !method.ends_with(b" ") {
            return Ok(());
        }
        let mut note = self
            .seen
            .prepare_cached("INSERT OR IGNORE INTO other_request VALUES (?1)")
            .map_err(io::Error::other)?;
        keys(head).iter().try_for_each(|key| note.execute(params![key]).map(drop)).map_err(io::Error::other)
    }

    /// Returns `true` if a visit is the answer to a request with another method than `GET`.
    pub(super) fn answers_other_method(&self, keys: &str) -> rusqlite::Result<bool> {
        let mut find = self.seen.prepare_cached("SELECT 1 FROM other_request WHERE key = ?1")?;
        for key in keys.lines() {
            if find.exists([key])? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns the identifiers of a record and of those that it names as parts of its exchange. If it names none, the writer
/// may not link records: then those of an exchange have the same time.
fn keys(head: &WarcHead) -> Vec<String> {
    let concurrent: Vec<&str> = head.all("WARC-Concurrent-To").collect();
    let time = match (concurrent.is_empty(), head.target(), head.date()) {
        (true, Some(uri), Some(date)) => Some(format!("{uri} {date}")),
        _ => None,
    };
    let ids = head.get("WARC-Record-ID").into_iter().chain(concurrent);
    ids.map(str::to_owned).chain(time).collect()
}
