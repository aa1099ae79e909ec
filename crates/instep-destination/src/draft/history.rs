//! The past of a set, as far as the meaning of an inventory depends on it.

use resourcesync::DateTime;

use crate::{
    Error,
    records::last_gap,
    state::{ReadState, SetId},
};

/// The changes that were applied to a set before the plan is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetHistory {
    /// `true` if changes were applied to the set.
    pub(super) applied_changes: bool,
    /// The time up to which they were all applied: those of a later time came while a list before theirs was lost.
    pub(super) reached: Option<DateTime>,
    /// `true` if no changes were applied, and the Source lists none.
    pub(super) has_no_changes: bool,
    /// The end of the last gap in the changes of the set, in which a deletion may have been missed, or the time of a later
    /// inventory. A new inventory without a time decides about resources that changed before it. An applied inventory that
    /// states no time counts with the time that the copy had reached before it, or with that of its newest entry (O775).
    pub(crate) last_gap: Option<DateTime>,
    /// `true` if the inventory is a former state of the one that was applied last: it does not show what was deleted since.
    pub(crate) has_former_inventory: bool,
    /// `true` if the state keeps deletions of the set: usually it does not, which saves a look-up for each resource.
    pub(super) keeps_deletions: bool,
}

impl SetHistory {
    /// Reads the past of a set.
    pub(super) fn read(state: &dyn ReadState, set: SetId) -> Result<Self, Error> {
        let reached = state.checkpoint(set)?.and_then(|checkpoint| checkpoint.datetime);
        Ok(Self {
            applied_changes: reached.is_some(),
            reached,
            has_no_changes: false,
            last_gap: last_gap::read(state, set)?,
            has_former_inventory: false,
            keeps_deletions: state.keeps_deletions(set)?,
        })
    }

    /// Takes note that the Source lists no changes.
    pub(super) fn expect_no_changes(&mut self, state: &dyn ReadState, set: SetId) -> Result<(), Error> {
        let checkpoint = state.checkpoint(set)?;
        self.applied_changes =
            checkpoint.is_some_and(|checkpoint| checkpoint.leading.is_some() || checkpoint.last.is_some());
        self.has_no_changes = !self.applied_changes;
        Ok(())
    }

    /// Takes note that the listed changes begin at a time after the last one that was applied, or that an inventory is of
    /// that time.
    pub(crate) fn meet_gap(&mut self, ends: DateTime) {
        let is_later = |known: DateTime| known.instant() < ends.instant();
        if self.last_gap.is_none_or(is_later) {
            self.last_gap = Some(ends);
        }
    }
}
