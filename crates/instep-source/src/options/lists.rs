//! Options for Resource Lists, Change Lists and archives.

use std::time::Duration;

/// Options for Resource Lists and Change Lists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListOptions {
    /// Renews the Resource List now, needed or not.
    pub snapshot: bool,
    /// The age at which a Resource List that is not renewed at each change is renewed together with the next one; 24 h.
    pub snapshot_every: Duration,
    /// The shortest time between renewals of a Resource List that fits one document; zero: each change renews it.
    pub small_snapshot_every: Duration,
    /// Writes one plain Change List instead of an index over lists.
    pub single_changelist: bool,
    /// The rule by which the open Change List closes.
    pub rotation: Rotation,
    /// The most closed Change Lists that the index names; 100. The oldest ones beyond that go to the archive, or are removed
    /// if there is none.
    pub closed_lists: usize,
    /// The most entries of a document; 50,000 (GEN-12).
    pub entries: u64,
    /// The most bytes of a document; 50 MB (GEN-12, AMB-B37).
    pub bytes: u64,
    /// The time that a document stays in place after the last reference to it, for readers that have just seen that;
    /// 1 h.
    pub grace: Duration,
}

impl Default for ListOptions {
    fn default() -> Self {
        Self {
            snapshot: false,
            snapshot_every: Duration::from_secs(24 * 3_600),
            small_snapshot_every: Duration::ZERO,
            single_changelist: false,
            rotation: Rotation::default(),
            closed_lists: 100,
            entries: 50_000,
            bytes: 50 << 20,
            grace: Duration::from_secs(3_600),
        }
    }
}

/// The rule by which the open Change List closes, always together with the next change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rotation {
    /// The most entries of a list; 5,000, and no more than 50,000 (GEN-12).
    pub entries: u64,
    /// The longest time since the first entry of a list; 24 h.
    pub age: Duration,
}

impl Default for Rotation {
    fn default() -> Self {
        Self { entries: 5_000, age: Duration::from_secs(24 * 3_600) }
    }
}

/// The retention of archives (Archives §1): a document is kept until it is older than `age`, or more than `count`
/// newer ones exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Archives {
    /// The longest time since the document was superseded or closed; 90 days.
    pub age: Duration,
    /// The most documents of one kind, besides those that are current; 10,000.
    pub count: usize,
}

impl Default for Archives {
    fn default() -> Self {
        Self { age: Duration::from_secs(90 * 24 * 3_600), count: 10_000 }
    }
}
