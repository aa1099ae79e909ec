//! Absence: the conclusions from the names that a complete inventory does not have (invariant 6).

use resourcesync::DateTime;

use super::Draft;
use crate::{
    Error,
    plan::{Desired, DesiredPresence, is_later, plausible, removal},
    state::{Action, ActionKind, HeldResource, Owed, PlanNote, ResourceMetadata},
};

impl Draft {
    /// Treats each inventory as the newest state, if the Source lists no changes and none were read before: an
    /// inventory without a time is not compared with the entries of an earlier one (O34).
    pub(crate) fn expect_no_changes(&mut self) -> Result<(), Error> {
        self.history.expect_no_changes(&*self.state, self.set)
    }

    /// Returns `true` if a change may be later than an inventory. An inventory without a time is at least as new as
    /// its newest entry: a resource that was changed after that entry may be newer than the inventory (O11). If the
    /// inventory was already applied, so may changes on the day or in the second of that entry. A resource that was
    /// changed before a gap may have been deleted in it: then only an inventory that is new shows it (O52).
    fn may_be_later(&self, resource: &ResourceMetadata, inventory: Option<DateTime>) -> bool {
        let change = self.last_change(resource, inventory);
        if inventory.is_some() || !self.history.applied_changes {
            return is_later(change, inventory);
        }
        let (newest, was_applied) = (self.inventory.newest, self.inventory.was_applied);
        let is_later = |change: DateTime, newest: DateTime| {
            newest.instant() < change.instant() || was_applied && newest.instant() < change.end()
        };
        let change = change.filter(|change| !self.may_be_gone(*change));
        change.is_some_and(|change| newest.is_none_or(|newest| is_later(change, newest)))
    }

    /// Returns the time of the last change of a resource, for a comparison with an inventory.
    fn last_change(&self, resource: &ResourceMetadata, inventory: Option<DateTime>) -> Option<DateTime> {
        let latest = Some(self.latest_time());
        match inventory {
            Some(_) => plausible(resource.datetime, latest),
            None => resource.last_change(latest),
        }
    }

    /// Returns `true` if a resource that changed at a time may have been deleted in a later gap (O52) or since a later
    /// inventory, and this inventory is new, so that it shows which.
    fn may_be_gone(&self, change: DateTime) -> bool {
        let known = plausible(self.history.last_gap, Some(self.clocks.latest_time()));
        let can_tell = !self.inventory.was_applied && !self.history.has_former_inventory;
        can_tell && known.is_some_and(|known| change.end() <= known.instant())
    }

    /// Plans to delete held resources that no part of the inventory names, or to keep them if nothing is deleted; the
    /// inventory must be complete (invariant 6). A resource that changed after the time of the inventory does not count as
    /// missing.
    pub(crate) fn infer_deletions(&mut self, inventory: Option<DateTime>) -> Result<(), Error> {
        let mut after: Option<String> = None;
        let may_wait = self.begins.with_owed || !self.state.owed_after(self.set, None, 1)?.is_empty();
        loop {
            self.go_on()?;
            let page = self.state.surplus_after(self.set, &self.named, after.as_deref(), Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.uri.as_str().to_owned());
            for held in page {
                if self.stays_unnamed(&held, inventory)?
                    || may_wait && self.is_pending_later(held.uri.as_str(), inventory)?
                {
                    self.inventory.has_later_changes = true;
                    continue;
                }
                if self.may_hold_earlier {
                    let removed = self.actions.remove(held.uri.as_str())?;
                    self.account.supersede(removed);
                }
                self.inventory.inferred += 1;
                // Another set may still list it: then only this set gives it up (B16).
                let kind = removal(&held, self.set, self.policy.delete);
                if kind == ActionKind::Keep {
                    self.keep_unnamed(&held, inventory)?;
                    continue;
                }
                self.actions.push(&Action::new(kind, Desired::new(held.uri)))?;
            }
        }
    }

    /// Lets this set drop a resource, instead of deleting it, if the plan of another set lists it: the resource exists, also
    /// if it is not selected (O790).
    pub(crate) fn leave_to(&mut self, other: &Self) -> Result<(), Error> {
        let mut after = 0;
        loop {
            let page = other.actions.notes_after(PlanNote::Joins, after, Self::PAGE)?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = *last;
            for (_, uri) in page {
                let Some(Action { kind: ActionKind::Delete, desired, .. }) = self.actions.for_uri(&uri)?
                else {
                    continue;
                };
                // A change may be later than the inventory that listed it.
                if !other.gives_up(&uri)? {
                    self.replace(ActionKind::Leave, desired)?;
                }
            }
        }
    }

    /// Returns `true` if the set no longer has a resource once the plan is done.
    pub(crate) fn gives_up(&self, uri: &str) -> Result<bool, Error> {
        let action = self.actions.for_uri(uri)?;
        Ok(action.is_some_and(|action| matches!(action.kind, ActionKind::Delete | ActionKind::Leave)))
    }

    /// Replaces the action for a resource by one of another kind.
    pub(crate) fn replace(&mut self, kind: ActionKind, desired: Desired) -> Result<(), Error> {
        self.actions.remove(desired.uri.as_str())?;
        Ok(self.actions.push(&Action::new(kind, desired))?)
    }

    /// Returns `true` if a held resource stays although an inventory does not name it.
    fn stays_unnamed(&self, held: &HeldResource, inventory: Option<DateTime>) -> Result<bool, Error> {
        Ok(self.may_be_later(&held.metadata, inventory) && !self.is_known_gone(held)?)
    }

    /// Returns `true` if a resource was deleted after its last change, and kept because nothing was deleted then (O51).
    pub(super) fn is_known_gone(&self, held: &HeldResource) -> Result<bool, Error> {
        Ok(self.known_deletion(held)?.is_some())
    }

    /// Drops pending retries of resources that a complete inventory does not name (B6): the Source no longer has them,
    /// unless they changed after the time of the inventory. A held version of such a resource is surplus like any other.
    pub(crate) fn settle_unnamed(&mut self, inventory: Option<DateTime>) -> Result<(), Error> {
        let mut after: Option<String> = None;
        while self.begins.with_owed {
            self.go_on()?;
            let page = self.state.owed_after(self.set, after.as_deref(), Self::PAGE)?;
            let Some(last) = page.last() else { break };
            after = Some(last.desired.uri.as_str().to_owned());
            for Owed { desired, .. } in page {
                let uri = desired.uri.as_str();
                let is_newer = self.may_have_missed(&desired.metadata, inventory);
                // A document that names it replaced the retry by an action that was not tried yet.
                let is_untouched =
                    |action: &Action| action.desired.attempts > 0 && action.kind != ActionKind::Delete;
                if !is_newer
                    && self.actions.for_uri(uri)?.as_ref().is_some_and(is_untouched)
                    && !self.actions.is_listed(uri)?
                {
                    self.account.supersede(self.actions.remove(uri)?);
                    self.actions.add_note(PlanNote::Settled, uri)?;
                }
            }
        }
        Ok(())
    }

    /// Returns `true` if an inventory may have missed a change. It may if it is older, or if it states no time and lists
    /// nothing later than the day or second of the change (O41), unless a gap came after the change.
    fn may_have_missed(&self, resource: &ResourceMetadata, inventory: Option<DateTime>) -> bool {
        let change = self.last_change(resource, inventory);
        let is_undated = inventory.is_none() && self.history.applied_changes;
        let is_over =
            |change: DateTime| self.inventory.newest.is_some_and(|newest| change.end() <= newest.instant());
        let is_open = |change: DateTime| !is_over(change) && !self.may_be_gone(change);
        is_undated && change.is_some_and(is_open) || is_later(change, inventory)
    }

    /// Returns `true` if a change of a resource is pending that an inventory may have missed: its held version stays
    /// until the change is fetched (O23).
    fn is_pending_later(&self, uri: &str, inventory: Option<DateTime>) -> Result<bool, Error> {
        let pending = if self.begins.with_owed {
            self.actions.for_uri(uri)?.map(|action| action.desired).filter(|one| one.attempts > 0)
        } else {
            // A plan that does nothing, such as that of an audit, does not contain it (O42).
            self.state.owed(self.set, uri)?.map(|owed| owed.desired)
        };
        let is_wanted = |pending: &Desired| pending.presence != DesiredPresence::Absent;
        let is_later = |pending: Desired| self.may_have_missed(&pending.metadata, inventory);
        Ok(pending.filter(is_wanted).is_some_and(is_later))
    }

    /// Counts the held resources that nothing that was read has named, and that did not change after the time of the
    /// inventory.
    pub(crate) fn count_unnamed(&self, inventory: Option<DateTime>) -> Result<u64, Error> {
        self.count_surplus(|held| Ok(!self.may_be_later(&held.metadata, inventory)))
    }

    /// Takes what stays beside an inventory without a time off the operator's limit: the changes that brought it are not
    /// read again (O61).
    pub(crate) fn take_unnamed_from_limit(&mut self) -> Result<(), Error> {
        if self.policy.limit.is_some() && self.inventory.usable > 0 {
            self.inventory.selected += self.count_surplus(|held| self.stays_unnamed(held, None))?;
            self.inventory.counts_unnamed = true;
        }
        Ok(())
    }

    /// Returns `true` if a held resource that no document has named yet was taken off the limit.
    pub(super) fn was_taken_from_limit(&self, held: &HeldResource) -> Result<bool, Error> {
        Ok(self.inventory.counts_unnamed && held.is_in(self.set) && self.stays_unnamed(held, None)?)
    }

    /// Counts some of the held resources that nothing that was read has named.
    fn count_surplus(&self, counts: impl Fn(&HeldResource) -> Result<bool, Error>) -> Result<u64, Error> {
        let (mut count, mut after) = (0, None::<String>);
        loop {
            self.go_on()?;
            let page = self.state.surplus_after(self.set, &self.named, after.as_deref(), Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(count) };
            after = Some(last.uri.as_str().to_owned());
            for held in &page {
                count += u64::from(counts(held)?);
            }
        }
    }
}
