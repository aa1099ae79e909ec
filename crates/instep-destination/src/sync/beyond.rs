//! The reasons to read more than the changes since the checkpoint.

use crate::{Error, Strategy, Via, discover::CapabilitySet, plan::Choice, run::SyncRun, state::SetId};

impl SyncRun<'_> {
    /// Returns why an inventory other than the one that was applied is read although changes reach back to the
    /// checkpoint: something before it is or may be unknown (O2, O14), or could not be used (B27).
    pub(super) fn reason_to_look_beyond_changes(
        &self,
        found: &CapabilitySet,
        set: SetId,
        choice: &Choice,
    ) -> Result<Option<&'static str>, Error> {
        let by_changes = matches!(choice.strategy, Strategy::Changes | Strategy::ChangeDump);
        if !by_changes || !found.has_inventory() || self.options.via != Via::Cheapest {
            return Ok(None);
        }
        let has_gap = !self.copy.coverage(set)?.is_complete();
        let has_unusable = self.copy.unusable(set)?.count > 0;
        Ok(match (has_gap, has_unusable) {
            (true, _) => Some("the inventory that was applied left a gap"),
            (_, true) => Some("entries that were read before could not be used"),
            _ => None,
        })
    }

    /// Returns `true` if the applied changes cannot give the wanted copy: another selection, deletions that were held
    /// back, or another scope for entries that were out of it.
    pub(crate) fn must_look_anew(&self, set: SetId) -> Result<bool, Error> {
        Ok(self.options.repair
            || self.options.as_of.is_some()
            || self.may_have_left_out(set)?
            || !self.copy.policy_stands(set, self.options)?)
    }

    /// Returns `true` if earlier plans may have left out what is wanted now: another selection, or another scope for
    /// entries that were out of it.
    pub(crate) fn may_have_left_out(&self, set: SetId) -> Result<bool, Error> {
        let unusable = self.copy.unusable(set)?;
        Ok(unusable.count > 0 && unusable.scope != self.options.access.scope_text()
            || !self.copy.selection_stands(set, self.options)?)
    }
}
