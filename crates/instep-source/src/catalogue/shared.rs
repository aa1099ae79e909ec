//! The rows by which servers on several machines show the same documents and send the same messages on their
//! channels.
//!
//! The publishing server writes them. The row of a document has a number that grows with each write, so that another
//! server reads only the rows after the last number that it has seen. The row of a removed document stays for a
//! while.

use std::time::Duration;

use super::{CatalogueError, subscribers::HubRows};

/// The bytes of a document in one row: large enough for few round trips, small enough for the memory of both sides.
pub(crate) const SHARED_PART: usize = 512 << 10;

/// The number of rows of removed documents that are kept. A server that missed more of them compares all documents.
pub(super) const MOST_REMOVALS: i64 = 1_000;

/// The number of messages that are kept. If a server misses more of them, its listeners get a gap, which they notice.
pub(super) const MOST_MESSAGES: i64 = 256;

/// A document of a Source, as all servers show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedDocument {
    /// Its number in the order of all writes.
    pub(crate) number: u64,
    /// Its name below the base URL.
    pub(crate) name: String,
    /// `None` if it was removed.
    pub(crate) content: Option<SharedContent>,
}

/// The bytes of a document, and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedContent {
    pub(crate) length: u64,
    /// The modification time of the file in nanoseconds, the source of `Last-Modified`.
    pub(crate) modified_ns: i64,
    /// The BLAKE3 hash of the bytes.
    pub(crate) digest: [u8; 32],
}

/// A part of the bytes of a document.
#[derive(Clone, Debug)]
pub(crate) struct SharedPart {
    /// The number of the document.
    pub(crate) document: u64,
    /// The number of the part in the document.
    pub(crate) part: u64,
    pub(crate) bytes: Vec<u8>,
}

/// A message of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedMessage {
    pub(crate) number: u64,
    pub(crate) topic: String,
    pub(crate) body: Vec<u8>,
}

/// Rows that are written in one transaction.
#[derive(Debug)]
pub(crate) enum SharedRows {
    /// Parts, and the documents that are complete with them. These replace documents with the same names.
    Documents { parts: Vec<SharedPart>, documents: Vec<SharedDocument> },
    /// A message for the listeners of all servers.
    Message { topic: String, body: Vec<u8> },
    /// Rows of the hub.
    Hub(HubRows),
}

/// The newest numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SharedPosition {
    /// The number of the last write of a document.
    pub(crate) documents: u64,
    /// The number of the last removal whose row no longer exists.
    pub(crate) forgotten: u64,
    /// The number of the last message.
    pub(crate) messages: u64,
}

/// Reads the rows of one Source.
pub(crate) trait ReadShared: Send + Sync {
    /// Returns the newest numbers.
    ///
    /// # Errors
    /// If the server fails.
    fn position(&self) -> Result<SharedPosition, CatalogueError>;

    /// Returns the documents after a number, in the order of their numbers, all as of one moment.
    ///
    /// # Errors
    /// If the server fails.
    fn documents_after(&self, number: u64) -> Result<Vec<SharedDocument>, CatalogueError>;

    /// Returns a part of a document; `None` if a later document has replaced it.
    ///
    /// # Errors
    /// If the server fails.
    fn part(&self, document: u64, part: u64) -> Result<Option<Vec<u8>>, CatalogueError>;

    /// Returns the messages after a number, in order.
    ///
    /// # Errors
    /// If the server fails.
    fn messages_after(&self, number: u64) -> Result<Vec<SharedMessage>, CatalogueError>;

    /// Wakes the other servers if the engine can. They also read the rows from time to time without that.
    fn wake(&self);

    /// Waits until another server wakes this one, at most this long.
    ///
    /// # Errors
    /// If no thread can be started.
    fn wait(&self, most: Duration) -> Result<(), CatalogueError>;
}
