//! Pending retries: how a plan begins with the owed entries, and starts over.

use std::sync::Arc;

use resourcesync::DateTime;

use super::{Draft, InventoryCount, other_sets::OtherSets};
use crate::{
    Error,
    plan::{Accounting, Desired, DesiredPresence, plausible, removal},
    records::held_though_gone,
    state::{Action, ActionKind, HeldResource, KeptDeletion, Owed, PlanNote},
};

impl Draft {
    /// Discards everything that was read, because an inventory is read again (D39). Owed entries stay.
    pub(crate) fn start_over(&mut self) -> Result<(), Error> {
        self.actions.forget_after(0)?;
        if let Some(versions) = &mut self.beside.versions {
            versions.forget_after(0)?;
        }
        // Forgets which committed resources were named: the next reading has to name them itself.
        self.named = self.state.named()?;
        (self.inventory, self.account) = (InventoryCount::default(), Accounting::default());
        self.actions.forget_notes_after(0)?;
        self.may_hold_earlier = false;
        if self.begins.with_owed {
            self.plan_owed()?;
        }
        if self.begins.with_kept { self.plan_kept_deletions() } else { Ok(()) }
    }

    /// Plans the deletions that were kept while nothing was deleted, or refused (O56): no list may name them any more.
    pub(crate) fn plan_kept_deletions(&mut self) -> Result<(), Error> {
        self.begins.with_kept = true;
        if !self.history.keeps_deletions
            || !self.policy.delete
            || !held_though_gone::read(&*self.state, self.set)?
        {
            return Ok(());
        }
        let as_of = self.policy.as_of.map(|as_of| as_of.end());
        let mut after: Option<String> = None;
        loop {
            let page = self.state.held_though_gone_after(self.set, after.as_deref(), Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.uri.as_str().to_owned());
            for KeptDeletion { uri, deleted, .. } in page {
                let Some(held) = self.state.held(uri.as_str())? else { continue };
                if as_of.is_some_and(|as_of| as_of <= deleted.instant())
                    || !self.is_known_gone(&held)?
                    || self.actions.for_uri(uri.as_str())?.is_some()
                {
                    continue;
                }
                let mut desired = Desired::new(uri);
                (desired.presence, desired.metadata.datetime) = (DesiredPresence::Absent, Some(deleted));
                self.may_hold_earlier = true;
                self.want(removal(&held, self.set, self.policy.delete), desired)?;
            }
        }
    }

    /// Begins with the owed entries (invariant 5).
    pub(crate) fn plan_owed(&mut self) -> Result<(), Error> {
        self.begins.with_owed = true;
        let mut after: Option<String> = None;
        loop {
            let page = self.state.owed_after(self.set, after.as_deref(), Self::PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.desired.uri.as_str().to_owned());
            self.may_hold_earlier = true;
            for owed in page {
                self.plan_one_owed(owed)?;
            }
        }
    }

    fn plan_one_owed(&mut self, Owed { desired, .. }: Owed) -> Result<(), Error> {
        self.account.read += 1;
        let held = self.state.held(desired.uri.as_str())?;
        if let Some(held) = &held
            && self.is_overtaken_by_another_set(&desired, held)?
        {
            self.account.superseded += 1;
            self.actions.add_note(PlanNote::Joins, desired.uri.as_str())?;
            self.actions.add_note(PlanNote::Settled, desired.uri.as_str())?;
            return Ok(());
        }
        let kind = match (desired.presence, held) {
            (DesiredPresence::Absent, Some(held)) if self.policy.delete => {
                removal(&held, self.set, self.policy.delete)
            }
            // The file is gone already, or the operator keeps it: either way nothing is pending.
            (DesiredPresence::Absent, held) => {
                if held.is_some() {
                    self.account.kept += 1;
                } else {
                    self.account.equal += 1;
                }
                self.actions.add_note(PlanNote::Settled, desired.uri.as_str())?;
                return Ok(());
            }
            (_, Some(held)) => {
                if self.is_known_gone(&held)? {
                    // A set named it since, otherwise it would not be pending.
                    self.actions.add_note(PlanNote::Returned, desired.uri.as_str())?;
                }
                if desired.retrieval().replaces_damaged || is_equal(&desired, &held) {
                    // Only a repair makes what is held pending (O62): documents that list it do not settle that.
                    Arc::make_mut(&mut self.damaged).insert(held.id);
                }
                ActionKind::Update
            }
            (_, None) => ActionKind::Create,
        };
        self.account.planned += 1;
        Ok(self.actions.push(&Action::new(kind, desired))?)
    }

    /// Returns `true` if another set updated the held resource after this set described the pending one, which is
    /// then older (O44). The time of a pending entry is at most that of its set's progress, or its own.
    fn is_overtaken_by_another_set(&self, pending: &Desired, held: &HeldResource) -> Result<bool, Error> {
        if pending.presence == DesiredPresence::Absent || held.is_only_in(self.set) {
            return Ok(false);
        }
        let latest = self.clocks.latest_time();
        let reached = self.state.checkpoint(self.set)?.and_then(|checkpoint| checkpoint.datetime);
        let described = [reached, pending.metadata.datetime].map(|time| plausible(time, Some(latest)));
        let described = described.into_iter().flatten().max_by_key(DateTime::instant);
        Ok(OtherSets::of(&*self.state, self.set, latest).have_described_since(held, described)?)
    }
}

/// Returns `true` if a pending state has the digests of the held one.
fn is_equal(pending: &Desired, held: &HeldResource) -> bool {
    held.metadata.digests.agrees_with(&pending.metadata.digests) == Some(true)
}
