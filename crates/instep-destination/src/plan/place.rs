//! The order of entries: which of several entries about a resource decides.

use resourcesync::DateTime;

/// The place of an entry among all that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The time of the change: its own, or that of the nearest earlier entry (AMB-B16).
    pub time: Option<DateTime>,
    /// The number of entries that were read before it.
    pub ordinal: u64,
}

/// Returns `true` if an entry decides over one about the same URI that was read before it (DST-6): the later change
/// does, and among changes of one time, or without times, the one that was read later.
///
/// A resource that is created and then deleted is thereby deleted, which does nothing if it is not held. One that is
/// deleted and then created is created (AMB-B20).
pub(crate) fn supersedes(new: Place, old: Place) -> bool {
    match (new.time, old.time) {
        (Some(new_time), Some(old_time)) if new_time.instant() != old_time.instant() => {
            new_time.instant() > old_time.instant()
        }
        _ => new.ordinal >= old.ordinal,
    }
}
