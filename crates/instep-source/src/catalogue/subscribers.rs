//! The subscriptions of the hub, shared by all servers of a Source. The publishing server delivers to them, and its
//! successor continues where it stopped.

use super::{CatalogueError, subscription::HubSubscription};

/// The largest number of requests that wait for the publishing server.
pub(super) const MOST_REQUESTS: i64 = 1_000;

/// The largest number of requests that are read together.
pub(super) const REQUESTS_AT_ONCE: i64 = 64;

/// The row of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubscriberRow {
    pub(crate) topic: String,
    pub(crate) callback: String,
    /// `None` if it has ended.
    pub(crate) state: Option<HubSubscription>,
}

/// Rows of the hub that are written in one transaction.
#[derive(Debug)]
pub(crate) enum HubRows {
    /// Subscriptions, which replace their earlier rows.
    Subscribers(Vec<SubscriberRow>),
    /// A message for subscribers. Messages older than `oldest` are removed.
    Message { topic: String, sequence: u64, at: i64, body: Vec<u8>, oldest: u64 },
    /// The requests with these numbers have been carried out. One that got its number before them may still have come
    /// after they were read.
    RequestsDone(Vec<u64>),
}

/// Reads the rows of the hub of one Source. Each method fails only if the server does.
pub(crate) trait ReadSubscribers: Send + Sync {
    /// Returns all subscriptions.
    ///
    /// # Errors
    /// If the server fails.
    fn subscribers(&self) -> Result<Vec<SubscriberRow>, CatalogueError>;

    /// Returns the messages that are kept: topic, sequence number and time.
    ///
    /// # Errors
    /// If the server fails.
    fn messages(&self) -> Result<Vec<(String, u64, i64)>, CatalogueError>;

    /// Returns the body of a message; `None` if it is not kept.
    ///
    /// # Errors
    /// If the server fails.
    fn body(&self, sequence: u64) -> Result<Option<Vec<u8>>, CatalogueError>;

    /// Returns the first requests that wait, each with its number.
    ///
    /// # Errors
    /// If the server fails.
    fn requests(&self) -> Result<Vec<(u64, Vec<u8>)>, CatalogueError>;

    /// Leaves a request to the server that publishes; `false` if too many wait. Any server may do so.
    ///
    /// # Errors
    /// If the server fails.
    fn leave_request(&self, form: &[u8]) -> Result<bool, CatalogueError>;
}
