//! A subscription at the hub, as the rows of a catalogue and the file of a single machine keep it.

/// A subscription at the hub. Times are microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HubSubscription {
    pub(crate) secret: Option<String>,
    pub(crate) expires: i64,
    /// The last message that was delivered, or that was there at the beginning.
    pub(crate) cursor: u64,
    pub(crate) failures: u32,
    pub(crate) failing_since: Option<i64>,
    pub(crate) next_attempt: i64,
}
