//! The account of a plan: every desired state that was read is counted exactly once.

use super::Rest;

/// Counts of the desired states that a plan was made of. Each counts as read and in exactly one other field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accounting {
    /// Desired states: entries of documents, wanted targets of links, and pending retries from earlier runs.
    pub read: u64,
    /// States that need an action.
    pub planned: u64,
    /// States that the copy already has.
    pub equal: u64,
    /// States that the operator's selection excludes.
    pub excluded: u64,
    /// Pending deletions that are not carried out.
    pub kept: u64,
    /// A later entry decides over them, or the copy holds a later state.
    pub superseded: u64,
    /// They were read by an earlier run.
    pub known: u64,
    /// They could not be used.
    pub unusable: u64,
}

impl Accounting {
    /// Returns `true` if every desired state is accounted for.
    pub fn is_balanced(&self) -> bool {
        let Self { read, planned, equal, excluded, kept, superseded, known, unusable } = *self;
        read == planned + equal + excluded + kept + superseded + known + unusable
    }

    /// Counts a desired state that nothing is done about.
    pub fn rest(&mut self, rest: Rest) {
        match rest {
            Rest::Equal => self.equal += 1,
            Rest::HeldIsLater => self.superseded += 1,
            Rest::Excluded => self.excluded += 1,
        }
    }

    /// Moves planned states to those that a later entry replaces.
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
