//! The visit that a record is about: the URI, the time, and the request that was answered.

use instep_warc::WarcHead;

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

/// Returns the identifiers of a record and of those that it names as parts of its exchange. If it names none, the writer
/// may not link records: then those of an exchange have the same time.
pub(super) fn keys(head: &WarcHead) -> Vec<String> {
    let concurrent: Vec<&str> = head.all("WARC-Concurrent-To").collect();
    let time = match (concurrent.is_empty(), head.target(), head.date()) {
        (true, Some(uri), Some(date)) => Some(format!("{uri} {date}")),
        _ => None,
    };
    let ids = head.get("WARC-Record-ID").into_iter().chain(concurrent);
    ids.map(str::to_owned).chain(time).collect()
}
