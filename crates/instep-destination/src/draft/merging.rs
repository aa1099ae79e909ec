//! Carries a decision into the rows of the plan, one resource after the other.

use std::collections::BTreeSet;

use super::awaited::Awaited;
use crate::{
    plan::{Accounting, Decision, DecisionRules, Desired, DesiredPresence, Known, Rest, decide, following},
    state::{Action, ActionKind, Actions, Held, Pushing, StateError},
};

/// The outputs of the decisions about one part of a document.
pub(super) struct Merging<'a> {
    pub(super) rules: DecisionRules,
    pub(super) pushing: Pushing<'a>,
    pub(super) actions: &'a Actions,
    /// `false` saves the look-up: a plan that begins with an inventory has no earlier action.
    pub(super) may_hold_earlier: bool,
    pub(super) damaged: &'a BTreeSet<String>,
    pub(super) account: &'a mut Accounting,
    pub(super) unchanged: &'a mut u64,
    pub(super) kept: &'a mut u64,
    /// The number of resources that may still be added, if the operator limits them and the entries are not counted yet.
    pub(super) room: Option<&'a mut u64>,
    pub(super) settled: &'a mut Vec<String>,
    pub(super) awaited: &'a mut Awaited,
    /// The first failure; nothing is written after it.
    pub(super) failure: Option<StateError>,
}

impl Merging<'_> {
    /// Decides about a resource and writes that into the plan.
    pub(super) fn take(&mut self, desired: &Desired, held: Option<&Held>, was_named: bool) {
        if self.failure.is_none() {
            self.failure = self.plan(desired, held, was_named).err();
        }
    }

    fn plan(&mut self, desired: &Desired, held: Option<&Held>, was_named: bool) -> Result<(), StateError> {
        let uri = desired.uri.as_str();
        let was_awaited = self.awaited.meet(uri);
        let earlier = if self.may_hold_earlier { self.actions.for_uri(uri)? } else { None };
        let is_damaged = !self.damaged.is_empty() && self.damaged.contains(uri);
        let decision = decide(desired, Known { held, earlier: earlier.as_ref(), is_damaged }, &self.rules);
        let decision = match decision {
            Decision::Act(ActionKind::Create) if earlier.is_none() => self.within_limit(decision),
            decision => decision,
        };
        if decision != Decision::Superseded && earlier.is_some() {
            self.account.supersede(self.actions.remove(uri)?);
        } else if was_named && earlier.is_none() && *self.unchanged > 0 && self.account.equal > 0 {
            // An earlier document named it and nothing was to be done: it was current then (A10).
            self.account.equal -= 1;
            self.account.superseded += 1;
            *self.unchanged -= 1;
        }
        match decision {
            Decision::Superseded => self.account.superseded += 1,
            Decision::Rest(rest) => {
                self.account.rest(rest);
                *self.kept += u64::from(rest == Rest::Kept);
                *self.unchanged += u64::from(desired.presence == DesiredPresence::Present);
                if earlier.is_some() || was_awaited {
                    self.settled.push(uri.to_owned());
                }
            }
            Decision::Act(kind) => {
                self.account.planned += 1;
                match earlier.as_ref().filter(|earlier| is_update_after(kind, earlier)) {
                    Some(earlier) => {
                        self.pushing.push(kind, &following(desired.clone(), &earlier.desired))?
                    }
                    None => self.pushing.push(kind, desired)?,
                }
            }
        }
        Ok(())
    }
}

impl Merging<'_> {
    /// Returns the decision to create a resource, or to leave it out if the copy has as many as the operator wants (A10).
    fn within_limit(&mut self, decision: Decision) -> Decision {
        match self.room.as_deref_mut() {
            Some(0) => Decision::Rest(Rest::Excluded),
            Some(room) => {
                *room -= 1;
                decision
            }
            None => decision,
        }
    }
}

/// Returns `true` if a version follows another one that the plan was going to fetch: its patch needs that one.
fn is_update_after(kind: ActionKind, earlier: &Action) -> bool {
    (kind, earlier.kind) == (ActionKind::Update, ActionKind::Update)
}
