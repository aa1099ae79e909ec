//! The rows by which servers on several machines show the same documents, and pass on the same messages of the channels.
//!
//! The server that publishes writes them. Each document has one row with a number, which grows with each write, so that
//! another server reads only what is behind the last number that it knows. A removed document leaves a row for a while.

use std::time::Duration;

use super::{CatalogueError, subscribers::HubRows};

/// The bytes of a document in one row: large enough for few round trips, small enough for the memory of both sides.
pub(crate) const SHARED_PART: usize = 512 << 10;

/// The rows of removed documents that are kept. A server that missed more of them compares all documents.
pub(super) const MOST_REMOVALS: i64 = 1_000;

/// The messages that are kept. A server that missed more of them leaves its listeners a gap, which they notice.
pub(super) const MOST_MESSAGES: i64 = 256;

/// A document of a Source, as all servers show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedDocument {
    /// Its place in the order of all writes.
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
    /// The modification time of the file in nanoseconds, from which `Last-Modified` is made.
    pub(crate) modified_ns: i64,
    /// The BLAKE3 of the bytes.
    pub(crate) digest: [u8; 32],
}

/// Some bytes of a document.
#[derive(Clone, Debug)]
pub(crate) struct SharedPart {
    /// The number of the document.
    pub(crate) document: u64,
    /// The place of the part in the document.
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
    /// Parts, and the documents that are complete with them; these replace earlier ones of their names.
    Documents { parts: Vec<SharedPart>, documents: Vec<SharedDocument> },
    /// A message for the listeners of all servers.
    Message { topic: String, body: Vec<u8> },
    /// Rows of the hub.
    Hub(HubRows),
}

/// The newest numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SharedPosition {
    /// That of the last write of a document.
    pub(crate) documents: u64,
    /// That of the last removal whose row is gone.
    pub(crate) forgotten: u64,
    /// That of the last message.
    pub(crate) messages: u64,
}

/// Reads the rows of one Source.
pub(crate) trait ReadShared: Send + Sync {
    /// Returns the newest numbers.
    ///
    /// # Errors
    /// If the server fails.
    fn position(&self) -> Result<SharedPosition, CatalogueError>;

    /// Returns the documents behind a number, in the order of their numbers, as they are at one moment.
    ///
    /// # Errors
    /// If the server fails.
    fn documents_after(&self, number: u64) -> Result<Vec<SharedDocument>, CatalogueError>;

    /// Returns a part of a document; `None` if a later document has replaced it.
    ///
    /// # Errors
    /// If the server fails.
    fn part(&self, document: u64, part: u64) -> Result<Option<Vec<u8>>, CatalogueError>;

    /// Returns the messages behind a number, in order.
    ///
    /// # Errors
    /// If the server fails.
    fn messages_after(&self, number: u64) -> Result<Vec<SharedMessage>, CatalogueError>;

    /// Wakes the other servers, as far as the engine can: they look by themselves, too.
    fn wake(&self);

    /// Waits until another server wakes this one, at most this long.
    ///
    /// # Errors
    /// If the system gives no thread.
    fn wait(&self, most: Duration) -> Result<(), CatalogueError>;
}
