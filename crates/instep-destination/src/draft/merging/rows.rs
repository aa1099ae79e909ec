//! The rows of the plan that follow from a decision about one resource.

use std::borrow::Cow;

use resourcesync::Digests;

use super::Merging;
use crate::{
    draft::kept::deletion_time,
    plan::{Currency, Decision, Desired, DesiredPresence, Fixity, Known, Rest, currency, following},
    state::{Action, ActionKind, PlanNote, StateError},
};

impl Merging<'_> {
    /// Takes back what an earlier document decided about a resource, unless that stays.
    pub(super) fn replace_earlier(
        &mut self,
        uri: &str,
        decision: Decision,
        known: &Known<'_>,
        was_named: bool,
    ) -> Result<(), StateError> {
        if decision != Decision::Superseded && known.earlier.is_some() {
            self.account.supersede(self.actions.remove(uri)?);
        } else if was_named && known.earlier.is_none() && *self.unchanged > 0 && self.account.equal > 0 {
            // An earlier document named it and nothing was to be done: it was current then (A10).
            self.account.equal -= 1;
            self.account.superseded += 1;
            *self.unchanged -= 1;
        }
        Ok(())
    }

    /// Leaves the plan as it is. A pending state that the entry contradicts is fetched without its length and digests.
    pub(super) fn leave_to_earlier(
        &mut self,
        desired: &Desired,
        known: &Known<'_>,
    ) -> Result<(), StateError> {
        self.account.superseded += 1;
        let uri = desired.uri.as_str();
        let Some(earlier) = known.earlier else { return Ok(()) };
        if desired.is_listed && earlier.desired.attempts > 0 {
            self.actions.add_note(PlanNote::Listed, uri)?;
        }
        if self.is_contradicted(earlier, desired) {
            let removed = self.actions.remove(uri)?;
            self.account.supersede(removed.saturating_sub(1));
            let mut pending = earlier.desired.clone();
            pending.forget_fixity();
            self.pushing.push(earlier.kind, &pending)?;
        }
        Ok(())
    }

    /// Leaves a resource as it is.
    pub(super) fn rest(
        &mut self,
        desired: &Desired,
        known: &Known<'_>,
        rest: Rest,
    ) -> Result<(), StateError> {
        self.account.rest(rest);
        let is_gone = rest == Rest::HeldIsLater && known.held.is_none();
        // One that the limit leaves out is no more current than one that was deleted since (O954).
        let is_current = rest != Rest::Excluded && !is_gone;
        *self.unchanged += u64::from(is_current && desired.presence == DesiredPresence::Present);
        if desired.is_listed
            && is_gone
            && let Some(selected) = &mut self.selected
        {
            // It was deleted after the inventory, so that another resource may come.
            **selected = selected.saturating_sub(1);
        }
        // Nothing is pending of a current resource: otherwise an earlier failure would be retried for ever.
        if known.earlier.is_some() || known.is_awaited {
            self.actions.add_note(PlanNote::Settled, desired.uri.as_str())?;
        }
        Ok(())
    }

    /// Plans an action.
    pub(super) fn act(
        &mut self,
        kind: ActionKind,
        desired: &Desired,
        known: &Known<'_>,
    ) -> Result<(), StateError> {
        let planned = match kind {
            ActionKind::Check if self.rules.leave_open(desired, *known) => {
                Cow::Owned(asked_openly(desired, known))
            }
            ActionKind::Note => Cow::Owned(noted(desired, known)),
            ActionKind::Keep => Cow::Owned(kept(desired, known)),
            ActionKind::Update => updated(desired, known),
            _ => Cow::Borrowed(desired),
        };
        self.pushing.push(kind, &planned)
    }

    /// Returns `true` if an inventory without a time lists other bytes than the pending ones. Only a request shows
    /// which of them is newer, so neither is expected (O27).
    fn is_contradicted(&self, pending: &Action, listed: &Desired) -> bool {
        let (ours, theirs) = (&pending.desired.metadata, &listed.metadata);
        let is_fetched = matches!(pending.kind, ActionKind::Create | ActionKind::Update);
        let is_other = match currency(Fixity::of_metadata(ours), Fixity::of_metadata(theirs)) {
            Currency::Stale => true,
            Currency::Unknown => !self.rules.was_applied,
            Currency::Current => false,
        };
        self.rules.is_undated && pending.desired.attempts > 0 && is_fetched && is_other
    }
}

/// Returns the state to ask for if the entry may be older than the answer: its metadata is not compared with that.
fn asked_openly(desired: &Desired, known: &Known<'_>) -> Desired {
    let mut asked = Desired::new(desired.uri.clone());
    // The answer is at least as new as the last known change; its exact time is unknown (O39).
    asked.metadata.datetime = known.last_change();
    asked
}

/// Returns the state whose links are noted: the bytes stay those that are held.
fn noted(desired: &Desired, known: &Known<'_>) -> Desired {
    let mut noted = desired.clone();
    noted.metadata =
        desired.metadata_beside(known.held.map_or(&Digests::new(), |held| &held.metadata.digests));
    noted
}

/// Returns the state of a resource that is gone at the Source and stays in the copy.
fn kept(desired: &Desired, known: &Known<'_>) -> Desired {
    let mut absent = Desired { presence: DesiredPresence::Absent, ..Desired::new(desired.uri.clone()) };
    absent.metadata.datetime = deletion_time(desired, known);
    absent
}

/// Returns the state that an update fetches.
fn updated<'d>(desired: &'d Desired, known: &Known<'_>) -> Cow<'d, Desired> {
    let mut planned = match known.earlier.filter(|earlier| earlier.kind == ActionKind::Update) {
        // Its patch applies to the version before, which is not held yet: the way leads through both.
        Some(earlier) => Cow::Owned(following(desired.clone(), &earlier.desired)),
        None => Cow::Borrowed(desired),
    };
    if known.is_damaged {
        planned.to_mut().replace_damaged();
    }
    planned
}
