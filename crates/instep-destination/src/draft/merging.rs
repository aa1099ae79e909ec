//! Decides about the resources of a part, one after the other; `rows` carries each decision into the plan.

mod rows;

use std::borrow::Cow;

use resourcesync::DateTime;

use super::{
    Draft,
    awaited::Awaited,
    kept::{KeptCount, depends_on_deletion, known_deletion},
    other_sets::OtherSets,
};
use crate::{
    Error, ProblemKind,
    plan::{
        Accounting, Decision, DecisionRules, Desired, DesiredPresence, Known, LinksNamed, Rest, decide,
        is_later, plausible,
    },
    state::{Action, ActionKind, Actions, HeldResource, PlanNote, Pushing, ReadState, RowSet, StateError},
};

/// The kind of document that a part of desired states comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum PartSource {
    /// Changes, whose entries count from the time that each of them states.
    Changes,
    /// An inventory with its time, if it states one; possibly the last applied one.
    Inventory { at: Option<DateTime>, was_applied: bool },
}

impl Draft {
    /// Decides about a part of desired states, each resource once; the part is sorted here.
    pub(super) fn merge(
        &mut self,
        mut part: Vec<Desired>,
        links: LinksNamed,
        source: PartSource,
        room: Option<&mut u64>,
    ) -> Result<(), Error> {
        self.go_on()?;
        if let Some(most) = self.state.longest_uri() {
            self.leave_out_longer(&mut part, most);
        }
        let (inventory, is_undated, was_applied) = match source {
            PartSource::Changes => (None, false, false),
            PartSource::Inventory { at, was_applied } => {
                (at, at.is_none() && self.history.applied_changes, was_applied)
            }
        };
        let (set, delete, latest) = (self.set, self.policy.delete, self.latest_time());
        let rules = DecisionRules { set, delete, links, inventory, is_undated, was_applied };
        let mut merging = Merging {
            rules,
            pushing: self.actions.pushing()?,
            actions: &self.actions,
            may_hold_earlier: self.may_hold_earlier,
            damaged: &self.damaged,
            deletions: self.history.keeps_deletions.then_some(&*self.state),
            other_sets: OtherSets::of(&*self.state, set, latest),
            latest: Some(latest),
            reached: plausible(self.history.reached, Some(self.clocks.latest_time())),
            account: &mut self.account,
            unchanged: &mut self.inventory.unchanged,
            kept: &mut self.inventory.kept,
            has_later_changes: &mut self.inventory.has_later_changes,
            selected: self.policy.limit.is_some().then_some(&mut self.inventory.selected),
            room,
            awaited: &mut self.awaited,
            failure: None,
        };
        // The part and the rows are read once, side by side, because a million entries would need a million look-ups.
        let joining =
            self.state.meet(self.set, &mut self.named, &mut part, &mut |desired, held, was_named| {
                merging.take(desired, held, was_named);
            })?;
        merging.failure.map_or(Ok(()), Err)?;
        for uri in joining {
            self.actions.add_note(PlanNote::Joins, uri.as_str())?;
        }
        Ok(())
    }
}

impl Draft {
    /// Leaves out the resources whose URIs are longer than the state can keep; no other one is affected (invariant 10).
    fn leave_out_longer(&mut self, part: &mut Vec<Desired>, most: usize) {
        let (problems, account) = (&mut self.problems, &mut self.account);
        part.retain(|desired| {
            let uri = desired.uri.as_str();
            if uri.len() > most {
                account.unusable += 1;
                let what = format!("Its URI has {} bytes; the state can keep {most}", uri.len());
                problems.unusable(ProblemKind::Entry, uri, what);
            }
            uri.len() <= most
        });
    }
}

/// The outputs of the decisions about one part of a document.
pub(super) struct Merging<'a> {
    pub(super) rules: DecisionRules,
    pub(super) pushing: Pushing<'a>,
    pub(super) actions: &'a Actions,
    /// `false` saves the look-up: a plan that begins with an inventory has no earlier action.
    pub(super) may_hold_earlier: bool,
    pub(super) damaged: &'a RowSet,
    /// The state, if it keeps deletions of the set.
    pub(super) deletions: Option<&'a dyn ReadState>,
    pub(super) other_sets: OtherSets<'a>,
    /// Times later than this are no times.
    pub(super) latest: Option<DateTime>,
    /// The time up to which all changes were applied before the plan.
    pub(super) reached: Option<DateTime>,
    pub(super) account: &'a mut Accounting,
    pub(super) unchanged: &'a mut u64,
    pub(super) kept: &'a mut KeptCount,
    /// `true` once a change or a deletion seems to be later than the inventory.
    pub(super) has_later_changes: &'a mut bool,
    /// The selected entries of the inventory, if the operator limits the resources.
    pub(super) selected: Option<&'a mut u64>,
    /// The number of resources that may still be added, if the operator limits them and the entries are not counted
    /// yet.
    pub(super) room: Option<&'a mut u64>,
    pub(super) awaited: &'a mut Awaited,
    /// The first failure; nothing is written after it.
    pub(super) failure: Option<StateError>,
}

impl Merging<'_> {
    /// Decides about a resource and writes that into the plan.
    pub(super) fn take(&mut self, desired: &Desired, held: Option<&HeldResource>, was_named: bool) {
        if self.failure.is_none() {
            self.failure = self.plan(desired, held, was_named).err();
        }
    }

    fn plan(
        &mut self,
        desired: &Desired,
        held: Option<&HeldResource>,
        was_named: bool,
    ) -> Result<(), StateError> {
        let uri = desired.uri.as_str();
        let is_awaited = self.awaited.meet(uri);
        let earlier = self.earlier(desired, was_named)?;
        let mut known = Known { is_awaited, ..self.known(uri, held, earlier.as_ref())? };
        let timed = by_its_time(desired, &known, self.reached);
        let desired: &Desired = &timed;
        let mut decision = self.decide(desired, &mut known)?;
        if was_named && self.rules.gives_up_again(desired, held, decision) {
            decision = Decision::Act(ActionKind::Leave);
        }
        self.count_kept(desired, &known, decision)?;
        let decision = self.within_limit(decision, &known);
        *self.has_later_changes |= desired.is_listed && leaves_later(decision);
        self.replace_earlier(uri, decision, &known, was_named)?;
        match decision {
            Decision::Superseded => self.leave_to_earlier(desired, &known),
            Decision::Rest(rest) => self.rest(desired, &known, rest),
            Decision::Act(kind) => {
                self.account.planned += 1;
                self.act(kind, desired, &known)
            }
        }
    }

    /// Returns the action that the plan has for a resource by an earlier entry, or because it is owed, with the time by which
    /// it is compared with an entry. If neither an inventory nor a change has a time, the times of the bytes show which
    /// of them is later (O770).
    fn earlier(&self, desired: &Desired, was_named: bool) -> Result<Option<Action>, StateError> {
        // A look-up by URI makes the plan build an index: not for a first reading, unless two parts name a resource (O1013).
        let is_repeated = was_named && desired.is_listed && desired.presence == DesiredPresence::Present;
        if !self.may_hold_earlier && !is_repeated {
            return Ok(None);
        }
        let Some(earlier) = self.actions.for_uri(desired.uri.as_str())? else { return Ok(None) };
        let mut earlier = without_impossible_time(earlier, self.latest);
        let planned = &mut earlier.desired;
        let is_older = |listed: Option<DateTime>| listed < desired.metadata.last_change(self.latest);
        if self.rules.is_undated {
            planned.metadata.datetime = planned.metadata.last_change(self.latest);
        } else if planned.is_listed && desired.inherits_time && is_older(planned.metadata.datetime) {
            planned.metadata.datetime = None;
        }
        Ok(Some(earlier))
    }

    /// Returns the knowledge about a resource, but for its deletion and the other sets, which [`Self::decide`] looks up if
    /// they could matter.
    fn known<'k>(
        &self,
        uri: &str,
        held: Option<&'k HeldResource>,
        earlier: Option<&'k Action>,
    ) -> Result<Known<'k>, StateError> {
        // Only for resources that are not held: the row of a held resource has the time of its last change.
        let gone = match self.deletions.filter(|_| held.is_none()) {
            Some(state) => state.gone(self.rules.set, uri)?,
            None => None,
        };
        let time = held.map_or(gone, |held| held.metadata.datetime);
        let changed = plausible(time, self.latest);
        let is_misdated = changed != time;
        let last_change = held
            .filter(|_| self.rules.is_undated)
            .map_or(changed, |held| held.metadata.last_change(self.latest));
        Ok(Known {
            held,
            earlier,
            changed: last_change,
            is_damaged: held.is_some_and(|held| self.damaged.contains(held.id)),
            is_misdated,
            ..Known::default()
        })
    }
}

impl Merging<'_> {
    /// Decides with the other sets and the deletions of held resources, if they could matter: usually nothing must be
    /// looked up.
    fn decide(&self, desired: &Desired, known: &mut Known<'_>) -> Result<Decision, StateError> {
        let mut decision = decide(desired, *known, &self.rules);
        if let (Decision::Act(ActionKind::Update | ActionKind::Check), Some(held)) = (decision, known.held) {
            known.is_described_since = self.other_sets.have_described_since(held, self.rules.inventory)?;
            decision = decide(desired, *known, &self.rules);
        }
        if let (Decision::Rest(Rest::HeldIsLater), DesiredPresence::Absent, Some(held)) =
            (decision, desired.presence, known.held)
            && self.other_sets.have_what_was_deleted(held, desired.metadata.datetime)?
        {
            return Ok(Decision::Act(ActionKind::Leave));
        }
        let Some((state, held)) = self.deletions.zip(known.held) else { return Ok(decision) };
        if !depends_on_deletion(desired, known, decision) {
            return Ok(decision);
        }
        known.deleted = known_deletion(state, self.rules.set, held, self.latest)?;
        Ok(decide(desired, *known, &self.rules))
    }

    /// Returns the decision, or that a new resource is left out because the operator's limit is reached (A10). One that the
    /// plan adds already has its room.
    fn within_limit(&mut self, decision: Decision, known: &Known<'_>) -> Decision {
        let is_added = known.earlier.is_some_and(|earlier| earlier.kind == ActionKind::Create);
        if decision != Decision::Act(ActionKind::Create) || is_added {
            return decision;
        }
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

/// Returns a change as one that its own time distinguishes, also if its place in its list shows that it is new: if the copy
/// has a change of its resource from after the time that it had `reached`, that came by a later list while the list of this
/// one was lost (O946).
fn by_its_time<'d>(desired: &'d Desired, known: &Known<'_>, reached: Option<DateTime>) -> Cow<'d, Desired> {
    if desired.is_appended && !desired.inherits_time && is_later(known.changed, reached) {
        return Cow::Owned(Desired { says_when: true, ..desired.clone() });
    }
    Cow::Borrowed(desired)
}

impl DecisionRules {
    /// Returns `true` if the planned set deletes a resource that an earlier document of the plan named. What is held came by a
    /// later change of another set, so the planned set would get back what it does not have any more (O765).
    fn gives_up_again(&self, desired: &Desired, held: Option<&HeldResource>, decision: Decision) -> bool {
        decision == Decision::Rest(Rest::HeldIsLater)
            && desired.presence == DesiredPresence::Absent
            && held.is_some_and(|held| !held.is_in(self.set) && !held.is_only_in(self.set))
    }
}

/// Returns `true` if an entry of an inventory changes nothing because something later is known.
fn leaves_later(decision: Decision) -> bool {
    matches!(
        decision,
        Decision::Superseded | Decision::Rest(Rest::HeldIsLater) | Decision::Act(ActionKind::Keep)
    )
}

/// Returns an action, without its time if its Source's clock has not reached it: otherwise it would outlast every
/// later change (O33).
fn without_impossible_time(mut action: Action, latest: Option<DateTime>) -> Action {
    let desired = &mut action.desired;
    if plausible(desired.metadata.datetime, latest) != desired.metadata.datetime {
        (desired.metadata.datetime, desired.ordinal) = (None, 0);
    }
    action
}
