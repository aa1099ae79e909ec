//! The other sets of a copy: each set that has a resource describes it separately.

use std::cell::OnceCell;

use resourcesync::DateTime;

use crate::{
    plan::{is_later, plausible},
    state::{HeldResource, ReadState, SetId, StateError},
};

/// The sets beside the one that is planned, with the times that they have reached.
pub(super) struct OtherSets<'a> {
    state: &'a dyn ReadState,
    set: SetId,
    /// Times later than this are no times.
    latest: DateTime,
    /// Looked up when the first resource needs it: usually none does.
    reached: OnceCell<Vec<(SetId, DateTime)>>,
}

impl<'a> OtherSets<'a> {
    pub(super) fn of(state: &'a dyn ReadState, set: SetId, latest: DateTime) -> Self {
        Self { state, set, latest, reached: OnceCell::new() }
    }

    /// Returns `true` if another set that holds a resource has described it later than a time, and the resource is
    /// not pending there.
    pub(super) fn have_described_since(
        &self,
        held: &HeldResource,
        time: Option<DateTime>,
    ) -> Result<bool, StateError> {
        if time.is_none() || held.is_only_in(self.set) {
            return Ok(false);
        }
        for (set, reached) in self.reached()? {
            let describes_later = held.is_in(*set) && is_later(Some(*reached), time);
            if describes_later && self.state.owed(*set, held.uri.as_str())?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns `true` if the planned set and another one have a resource, and the former has not reached the time at which
    /// it deleted the resource: what is held is later by a change of the other set (O796). A later change of its own would
    /// be read with the deletion.
    pub(super) fn have_what_was_deleted(
        &self,
        held: &HeldResource,
        deleted: Option<DateTime>,
    ) -> Result<bool, StateError> {
        if !held.is_in(self.set) || held.is_only_in(self.set) {
            return Ok(false);
        }
        let reached = self.state.checkpoint(self.set)?.and_then(|checkpoint| checkpoint.datetime);
        Ok(is_later(deleted, plausible(reached, Some(self.latest))))
    }

    fn reached(&self) -> Result<&[(SetId, DateTime)], StateError> {
        if let Some(reached) = self.reached.get() {
            return Ok(reached);
        }
        let mut reached = Vec::new();
        for (set, _) in self.state.sets()? {
            let checkpoint = if set == self.set { None } else { self.state.checkpoint(set)? };
            let time = checkpoint.and_then(|checkpoint| plausible(checkpoint.datetime, Some(self.latest)));
            reached.extend(time.map(|time| (set, time)));
        }
        Ok(self.reached.get_or_init(|| reached))
    }
}
