//! Keeping: counts the held resources that are gone at the Source and stay, and notes those that exist again.

use resourcesync::DateTime;

use super::{
    Draft,
    kept::{KeptCount, deletion_time, is_back, kept_by_plan, known_deletion},
    merging::Merging,
};
use crate::{
    Error,
    plan::{Decision, Desired, DesiredPresence, Known},
    records::kept::KeptResources,
    state::{Action, ActionKind, HeldResource, PlanNote, StateError},
};

impl Draft {
    /// Returns when a held resource was deleted, if that is known and it was kept.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(super) fn known_deletion(&self, held: &HeldResource) -> Result<Option<DateTime>, Error> {
        if !self.history.keeps_deletions {
            return Ok(None);
        }
        Ok(known_deletion(&*self.state, self.set, held, Some(self.latest_time()))?)
    }

    /// Plans to keep a held resource that a complete inventory does not name. From then on it is known to be deleted, so
    /// that a change shows when it exists again (O64).
    ///
    /// # Errors
    /// If the plan cannot be written.
    pub(super) fn keep_unnamed(
        &mut self,
        held: &HeldResource,
        inventory: Option<DateTime>,
    ) -> Result<(), Error> {
        let known = self.known_deletion(held)?;
        let deleted = inventory.filter(|at| held.was_deleted_at(Some(*at))).max(known);
        *self.inventory.kept.of(known, deleted) += 1;
        let mut absent = Desired::new(held.uri.clone());
        (absent.presence, absent.metadata.datetime) = (DesiredPresence::Absent, deleted);
        self.actions.push(&Action::new(ActionKind::Keep, absent))?;
        Ok(())
    }

    /// Notes the resources that exist again by an earlier plan of the run, whose deletions are forgotten with this one.
    ///
    /// # Errors
    /// If a plan cannot be read or written.
    pub(crate) fn take_over_returned(&mut self, earlier: &Self) -> Result<(), Error> {
        let mut after = 0;
        loop {
            let page = earlier.actions.notes_after(PlanNote::Returned, after, Self::PAGE)?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = *last;
            for (_, uri) in page {
                // A later deletion counts.
                if self.actions.for_uri(&uri)?.is_none_or(|action| action.kind != ActionKind::Keep) {
                    self.actions.add_note(PlanNote::Returned, &uri)?;
                }
            }
        }
    }

    /// Returns the resources that are kept after the plan: all of them if the plan counted them anew, with an inventory,
    /// otherwise those of before with the differences. Those of before are read only then, because all known deletions
    /// are read for them, also those of resources that are not held (O169).
    ///
    /// # Errors
    /// If the plan cannot be read, or `before` fails.
    pub(crate) fn kept(
        &self,
        before: impl FnOnce() -> Result<KeptResources, Error>,
        is_counted_anew: bool,
    ) -> Result<KeptResources, Error> {
        let KeptCount { known, dated, undated } = self.inventory.kept;
        if is_counted_anew {
            return Ok(KeptResources { all: known + dated + undated, undated });
        }
        let before = before()?;
        let returned = self.actions.count_noted(PlanNote::Returned)?;
        let all = (before.all + dated + undated).saturating_sub(returned);
        Ok(KeptResources { all, undated: before.undated + undated })
    }
}

impl Merging<'_> {
    /// Counts a decision about a held resource that is or was kept although it was deleted; and notes if it exists again,
    /// whether it is selected or not: otherwise its deletion would be carried out once deletions are wanted (O63).
    pub(super) fn count_kept(
        &mut self,
        desired: &Desired,
        known: &Known<'_>,
        decision: Decision,
    ) -> Result<(), StateError> {
        if decision == Decision::Superseded {
            return Ok(());
        }
        let uri = desired.uri.as_str();
        if let Some(earlier) = kept_by_plan(known) {
            let count = self.kept.of(known.deleted, earlier.desired.metadata.datetime);
            // A time that cannot be was taken off the earlier action since: then the number stays too high.
            *count = count.saturating_sub(1);
        }
        if decision == Decision::Act(ActionKind::Keep) {
            *self.kept.of(known.deleted, deletion_time(desired, known)) += 1;
        }
        if is_back(desired, known, &self.rules) {
            self.actions.add_note(PlanNote::Returned, uri)?;
        } else if desired.presence == DesiredPresence::Absent && self.may_hold_earlier {
            self.actions.forget_note(PlanNote::Returned, uri)?;
        }
        Ok(())
    }
}
