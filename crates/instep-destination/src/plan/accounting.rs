//! The account of a plan: every desired state that was read is counted exactly once.

use super::Rest;

/// Counts of the desired states that a plan was made of. Each counts as read and in exactly one other field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accounting {
    /// Desired states: entries of documents, wanted targets of links, and pending retries from earlier runs.
    pub read: u64,
    /// States that lead to an action.
    pub planned: u64,
    /// States that the copy already has.
    pub equal: u64,
    /// States that the operator's selection excludes.
    pub excluded: u64,
    /// Deletions that are pending, because the operator does not allow them.
    pub kept: u64,
    /// States that a later entry replaces, or that are older than the copy's.
    pub superseded: u64,
    /// States that an earlier run has read already.
    pub known: u64,
    /// States that could not be used.
    pub unusable: u64,
}

impl Accounting {
    /// Returns `true` if every desired state is accounted for.
    pub fn is_balanced(&self) -> bool {
        let Self { read, planned, equal, excluded, kept, superseded, known, unusable } = *self;
        read == planned + equal + excluded + kept + superseded + known + unusable
    }

    /// Counts a desired state that leads to no action.
    pub fn rest(&mut self, rest: Rest) {
        match rest {
            Rest::Equal => self.equal += 1,
            Rest::HeldIsLater => self.superseded += 1,
            Rest::Excluded => self.excluded += 1,
        }
    }

    /// Counts states as replaced by a later entry that were counted as planned before.
    pub fn supersede(&mut self, planned: u64) {
        self.planned = self.planned.saturating_sub(planned);
        self.superseded += planned;
    }

    /// Adds another account.
    pub fn add(&mut self, other: &Self) {
        self.read += other.read;
        self.planned += other.planned;
        self.equal += other.equal;
        self.excluded += other.excluded;
        self.kept += other.kept;
        self.superseded += other.superseded;
        self.known += other.known;
        self.unusable += other.unusable;
    }
}
