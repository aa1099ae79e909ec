//! The visit that a record describes: the URI, the time, and the identifiers by which its request is found.

use instep_warc::WarcHead;

/// A visit of a resource.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    pub(super) uri: String,
    /// The time, in microseconds since 1970.
    pub(super) date: i64,
    /// The identifiers by which the request of this visit is found, one per line.
    pub(super) keys: String,
}

impl Visit {
    /// Returns the visit that the head of a record describes.
    pub(super) fn new(uri: String, date: i64, head: &WarcHead) -> Self {
        Self { uri, date, keys: keys(head).join("\n") }
    }
}

/// Returns the identifiers of a record and of the records that it names as parts of the same exchange. If it names
/// none, its URI and time are added: some writers do not link the records of an exchange but give them the same time.
pub(super) fn keys(head: &WarcHead) -> Vec<String> {
    let concurrent: Vec<&str> = head.all("WARC-Concurrent-To").collect();
    let time = match (concurrent.is_empty(), head.target(), head.date()) {
        (true, Some(uri), Some(date)) => Some(format!("{uri} {date}")),
        _ => None,
    };
    let ids = head.get("WARC-Record-ID").into_iter().chain(concurrent);
    ids.map(str::to_owned).chain(time).collect()
}
