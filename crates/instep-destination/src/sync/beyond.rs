//! The reasons to read more than the changes since the checkpoint. `way.rs` acts on them.

use resourcesync::{Capability, DateTime};

use crate::{
    Error, Guard, ProblemKind, Strategy, Via,
    discover::CapabilitySet,
    error::BesideUrl as _,
    plan::{Choice, Coverage},
    read::{Changes, Inventory, LostDocument, ReadChanges, is_gone},
    records::DocumentNote,
    run::{SetRun, SyncRun},
    state::{Checkpoint, SetId},
};

impl SyncRun<'_> {
    /// Returns the reason to read the inventory although changes reach back to the checkpoint: changes before it may be
    /// unknown (O2, O14), or entries could not be used (B27). `None` if there is no reason.
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

    /// Looks at the inventory of a set again if an earlier run refused it because it was older than the one that was applied,
    /// and this run read changes only: they may be those of a former state of the Source too (O707).
    pub(super) async fn look_at_older_inventory(
        &mut self,
        found: &CapabilitySet,
        set: SetId,
    ) -> Result<(), Error> {
        if !self.copy.has_older_inventory(set)? {
            return Ok(());
        }
        match Inventory::check_is_not_older(self, found).await {
            Ok(()) => return self.copy.settle_older_inventory(set),
            Err(error) if error.loses_document() || matches!(error, Error::Refused { .. }) => {
                let url = &self.options.url;
                self.reporter.problem(ProblemKind::Document, url, &error.beside(url));
            }
            Err(error) => return Err(error),
        }
        self.reporter.report.coverage = Some(Coverage::Unknown);
        Ok(())
    }

    /// Returns `true` if applying changes cannot give the wanted copy: the selection, the scope or the policy of
    /// deletions differs from the last plan, or a repair or a past state is requested.
    pub(crate) fn must_look_anew(&self, set: SetId) -> Result<bool, Error> {
        Ok(self.options.repair
            || self.options.as_of.is_some()
            || self.may_have_left_out(set)?
            || !self.copy.policy_stands(set, self.options)?)
    }

    /// Returns `true` if all activities of a collection can be used, and some could not be when it was read last: the times of
    /// those may be older than the one that the copy has reached (O996).
    pub(super) fn has_usable_activities_again(&self, found: &CapabilitySet) -> Result<bool, Error> {
        let offer =
            found.get(&Capability::ChangeList).filter(|_| found.is_translated && !found.lacks_entries);
        let Some(offer) = offer else { return Ok(false) };
        let Some(record) = self.state().document(&offer.uri)? else { return Ok(false) };
        Ok(DocumentNote::read(self.state(), &record)?.unusable > 0)
    }

    /// Returns `true` if earlier plans may have left out resources that are wanted now: they had another selection, or
    /// another scope for entries that were outside of it.
    pub(crate) fn may_have_left_out(&self, set: SetId) -> Result<bool, Error> {
        let unusable = self.copy.unusable(set)?;
        Ok(unusable.count > 0 && unusable.scope != self.options.access.scope_text()
            || !self.copy.selection_stands(set, self.options)?)
    }

    /// Returns `true` if resources are deleted now that an earlier run kept, and whose deletions have no time: only the change
    /// that deleted one of them shows which it is, beside an inventory that has no time either (O789).
    pub(crate) fn may_have_kept_undated(&self, set: SetId) -> Result<bool, Error> {
        Ok(self.options.delete && self.copy.kept(set)?.undated > 0)
    }

    /// Folds changes over the plan. If some are missing among them, the checkpoint stays (O786), and those that the copy has
    /// are passed over: otherwise each run would request their resources again (O863). An older list is refused (D36), but
    /// counts as lost if there is an inventory from after the time that the copy has reached: it has all changes until then.
    pub(super) async fn read_new(
        &mut self,
        found: &CapabilitySet,
        set: &mut SetRun,
        changes: Changes,
        since: Checkpoint,
    ) -> Result<ReadChanges, Error> {
        let passes_over_known = found.lacks_changes && !self.must_look_anew(set.id)?;
        set.with(|draft| draft.seeks_left_out = passes_over_known);
        let read = changes.read(self, found, set, since.clone()).await;
        set.with(|draft| draft.seeks_left_out = false);
        match (read, since.document.clone()) {
            (Err(older @ Error::Refused { guard: Guard::TimeWentBack, .. }), Some(list))
                if self.has_inventory_after(found, since.datetime).await? =>
            {
                let mut read = ReadChanges::without_packages(self, since);
                read.lost.push((list, older));
                Ok(read)
            }
            (read, _) => read,
        }
    }

    /// Returns `true` if the Source has an inventory from after a time that may be read.
    async fn has_inventory_after(
        &mut self,
        found: &CapabilitySet,
        time: Option<DateTime>,
    ) -> Result<bool, Error> {
        match time.filter(|_| self.options.via == Via::Cheapest) {
            Some(time) => Inventory::is_later_than(self, found, time).await,
            None => Ok(false),
        }
    }

    /// Returns the reason to read an inventory although changes were planned: some of them are missing, or their
    /// meaning depends on it.
    pub(super) fn reason_for_inventory(
        &self,
        found: &CapabilitySet,
        set: &SetRun,
        lost: &[LostDocument],
    ) -> Option<String> {
        match lost.first() {
            None => {}
            Some((_, Error::Refused { what, .. })) => return Some(what.clone()),
            Some((_, error)) if !self.can_do_without(error, found) => return None,
            // Sources need not keep Change Lists (DST-10).
            Some((_, error)) if is_gone(error) => {
                return Some(format!("a gap: a Change List since then is gone ({error})"));
            }
            Some((_, error)) => return Some(format!("changes are lost: {error}")),
        }
        if !found.has_inventory() {
            return None;
        }
        let met = set.with(|draft| draft.met);
        let reason = match self.options.via {
            Via::Cheapest => met.reason_for_inventory(),
            // Changes alone were requested, but only an inventory has all resources that a record may describe.
            _ => met.reason_to_choose_again(),
        };
        reason.map(str::to_owned)
    }

    /// Returns `true` if a set can be planned without a document that is missing or unreadable, because it has an
    /// inventory.
    fn can_do_without(&self, error: &Error, found: &CapabilitySet) -> bool {
        error.loses_document() && found.has_inventory() && self.options.via != Via::Changes
    }

    /// Returns `true` if an inventory and the changes after it settle the state of a set. If changes are lost, the next
    /// run compares the complete copy again in two cases: earlier plans may have left out resources that the lost
    /// changes name, or changes without a time that were applied over the inventory may be older than it.
    pub(super) fn settles(
        &mut self,
        set: &mut SetRun,
        inventory: &Inventory,
        read: &ReadChanges,
        anew: bool,
    ) -> Result<bool, Error> {
        Ok(!self.note_doubtful(set, inventory)? && (!anew || read.is_whole()))
    }

    /// Returns `true` if changes without a time that were applied over an inventory may be older than it, because changes
    /// are lost. Records that the coverage is unknown then.
    pub(crate) fn note_doubtful(&mut self, set: &mut SetRun, inventory: &Inventory) -> Result<bool, Error> {
        let is_doubtful = inventory.at.is_some() && set.with(|draft| draft.met.doubtful);
        if is_doubtful {
            set.coverage = Some(Coverage::Unknown);
            // Recorded at once: the next run may find nothing in the lists that leads it to the inventory.
            self.copy.keep_coverage(set.id, Coverage::Unknown)?;
        }
        Ok(is_doubtful)
    }

    /// Reports and records that the Change Lists contradict what was read of them before: they lack changes that were applied
    /// (O411), begin earlier (O945), or show that the clock of the Source went back (O706). As after such a step (O54),
    /// times up to the one that the copy had reached do not show which state is newer, until a later inventory is applied.
    /// `inventory` is the time of the one that the plan has: if it is later, it has all of their changes.
    pub(crate) fn note_contradictions(
        &mut self,
        set: &SetRun,
        held: Option<&Checkpoint>,
        inventory: Option<DateTime>,
    ) -> Result<(), Error> {
        let is_open =
            |reached: &DateTime| inventory.is_none_or(|inventory| inventory.instant() < reached.end());
        let reached = held.and_then(|held| held.datetime).filter(is_open);
        let met = set.with(|draft| draft.met);
        let (Some(reached), true) = (reached, met.are_contradictory()) else {
            return Ok(());
        };
        let note = if met.lost_changes {
            format!(
                "the Change List lacks changes up to {reached} that were applied: the Source may have been restored from a \
                 backup, and only a later inventory shows what it has now"
            )
        } else {
            let sign = if met.rewritten {
                "the Change Lists begin earlier than when they were read last"
            } else {
                "the clock of the Source went back behind changes that its Change List had"
            };
            format!(
                "{sign}: which of the changes up to {reached} were applied is unknown, and only a later inventory shows what \
                 the Source has now"
            )
        };
        self.reporter.note_once(note);
        self.distrust_times(set.id, reached)
    }

    /// Records that times up to the one that a set had reached do not show which state is newer, until a later inventory is
    /// applied. It is recorded at once, because the next run does not see it in the lists.
    fn distrust_times(&mut self, set: SetId, reached: DateTime) -> Result<(), Error> {
        self.copy.keep_coverage(set, Coverage::Unknown)?;
        self.copy.note_clock_step(set, reached)
    }
}
