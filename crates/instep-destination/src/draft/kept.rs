//! Kept deletions: the held resources that are gone at the Source and stay, and which entries are about them.

use resourcesync::DateTime;

use crate::{
    plan::{Decision, DecisionRules, Desired, DesiredPresence, Known, Rest, plausible},
    state::{Action, ActionKind, HeldResource, ReadState, SetId, StateError},
};

/// The held resources that a plan keeps although they are gone at the Source.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeptCount {
    /// Those whose deletions the state knew before.
    pub(super) known: u64,
    /// Those whose deletions the plan found, with their times.
    pub(super) dated: u64,
    /// Those whose deletions the plan found, of unknown times.
    pub(super) undated: u64,
}

impl KeptCount {
    pub(super) fn of(&mut self, known: Option<DateTime>, found: Option<DateTime>) -> &mut u64 {
        match (known, found) {
            (Some(_), _) => &mut self.known,
            (None, Some(_)) => &mut self.dated,
            (None, None) => &mut self.undated,
        }
    }
}

/// Returns `true` if a decision about a held resource, or the number of kept ones, depends on a deletion that was kept.
pub(super) fn depends_on_deletion(desired: &Desired, known: &Known<'_>, decision: Decision) -> bool {
    kept_by_plan(known).is_some()
        || match decision {
            Decision::Act(ActionKind::Note) | Decision::Rest(Rest::Equal | Rest::Excluded) => {
                !desired.is_listed
            }
            Decision::Act(kind) => kind.asks() || kind == ActionKind::Keep,
            Decision::Rest(Rest::HeldIsLater) | Decision::Superseded => false,
        }
}

/// Returns the time at which a set had a held resource deleted, if that was after the last change of the resource.
pub(super) fn known_deletion(
    state: &dyn ReadState,
    set: SetId,
    held: &HeldResource,
    latest: Option<DateTime>,
) -> Result<Option<DateTime>, StateError> {
    let deleted = plausible(state.gone(set, held.uri.as_str())?, latest);
    let changed = plausible(held.metadata.datetime, latest);
    Ok(deleted.filter(|deleted| changed.is_none_or(|changed| changed.unix_micros() < deleted.unix_micros())))
}

/// Returns the latest known time at which a held resource did not exist. The time of an inventory that names it does not
/// count, and neither does one before the last change of the held state.
pub(super) fn deletion_time(desired: &Desired, known: &Known<'_>) -> Option<DateTime> {
    let is_deletion = |time: &DateTime| {
        let is_since = known.held.is_none_or(|held| held.was_deleted_at(Some(*time)));
        desired.presence == DesiredPresence::Absent && is_since
    };
    let stated = desired.metadata.datetime.filter(is_deletion);
    stated.max(known.deleted).max(kept_by_plan(known).and_then(|earlier| earlier.desired.metadata.datetime))
}

/// Returns the earlier action of the plan that keeps a resource.
pub(super) fn kept_by_plan<'a>(known: &Known<'a>) -> Option<&'a Action> {
    known.earlier.filter(|earlier| earlier.kind == ActionKind::Keep)
}

/// Returns `true` if a change, or an inventory that came after the deletion, shows that a resource exists again. Of a
/// deletion and a change with equal times, the change counts.
pub(super) fn is_back(desired: &Desired, known: &Known<'_>, rules: &DecisionRules) -> bool {
    let Some(deleted) = known.deleted.filter(|_| desired.presence != DesiredPresence::Absent) else {
        return false;
    };
    if desired.is_listed {
        // A failure of this run was noted with the inventory that listed the resource first.
        !known.is_awaited && rules.came_after(deleted)
    } else {
        desired.metadata.datetime.is_some_and(|changed| deleted.unix_micros() <= changed.unix_micros())
    }
}
