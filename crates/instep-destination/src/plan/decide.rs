//! The one decision about a resource: the action, given the desired state, the held resource and the present plan. The
//! states come from `read/`, and `draft/` writes the decision into the plan.

use resourcesync::DateTime;

use super::{Currency, Desired, DesiredPresence, Fixity, currency, removal, share_no_algorithm, supersedes};
use crate::state::{Action, ActionKind, HeldResource, SetId};

/// The rules that hold for all entries of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecisionRules {
    /// The set that the document describes.
    pub set: SetId,
    /// `true` if resources that the Source deleted are removed from the copy (DST-4).
    pub delete: bool,
    /// The links that an entry names.
    pub links: LinksNamed,
    /// The time of the inventory that the entries come from. `None` for changes, and for an inventory without a time.
    pub inventory: Option<DateTime>,
    /// `true` if the entries come from an inventory without a time, after changes were applied: each has only its own
    /// time.
    pub is_undated: bool,
    /// `true` if the entries come from the inventory that was applied last: everything applied since is later.
    pub was_applied: bool,
}

impl DecisionRules {
    /// Returns the time that an entry of an inventory describes.
    fn time_of(&self, desired: &Desired) -> Option<DateTime> {
        if self.is_undated {
            deciding_time(desired.metadata.datetime, self.was_applied)
        } else {
            self.inventory
        }
    }

    /// Returns `true` if an entry of an inventory is older than a change, or does not show that it is newer.
    pub(crate) fn may_precede(&self, desired: &Desired, change: Option<DateTime>) -> bool {
        let time = self.time_of(desired);
        is_later(change, time) || self.is_undated && time.is_none() && change.is_some()
    }

    /// Returns `true` if the inventory came after a deletion. A deletion at the same moment may be the later one. An
    /// inventory without a time is the newest state if no changes were applied (O34).
    pub(crate) fn came_after(&self, deleted: DateTime) -> bool {
        match self.inventory {
            Some(at) => deleted.unix_micros() < at.unix_micros(),
            None => !self.is_undated,
        }
    }

    /// Returns `true` if a new inventory without times lists other bytes than those that are kept of a deleted resource, or
    /// digests of other algorithms (O947). Then it may not only have missed the deletion, so a request decides (O36).
    fn brings_back(&self, desired: &Desired, held: &HeldResource) -> bool {
        let is_unknown = self.is_undated && !self.was_applied && desired.metadata.datetime.is_none();
        let (ours, theirs) = (&held.metadata.digests, &desired.metadata.digests);
        let is_other = currency_of(held, desired) == Currency::Stale || share_no_algorithm(ours, theirs);
        is_unknown && desired.presence == DesiredPresence::Present && is_other
    }

    /// Returns `true` if the difference from an inventory came from another set since (O37, O44). It did not if the
    /// resource is pending: then it could not be fetched when the inventory was applied.
    fn is_of_another_set(&self, currency: Currency, held: &HeldResource, known: &Known<'_>) -> bool {
        let is_shared = held.is_in(self.set) && !held.is_only_in(self.set);
        let differs_since = currency == Currency::Stale && self.was_applied && is_shared;
        let came_since = differs_since || currency != Currency::Current && known.is_described_since;
        came_since && known.earlier.is_none() && !known.is_awaited
    }

    /// Returns `true` if an entry may be older than the held resource, so that the response need not have its length and
    /// digests.
    pub(crate) fn leave_open(&self, desired: &Desired, known: Known<'_>) -> bool {
        self.may_precede(desired, known.last_change()) || self.is_undated && known.is_misdated
    }
}

/// The part of a resource's links that its entry names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinksNamed {
    /// All of them, as a Change List does (§12): a link that it does not name is gone.
    All,
    /// Only some links, as in an inventory or the manifest of a package: missing ones mean nothing.
    Some,
}

/// The knowledge about a resource beside its desired state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known<'a> {
    /// The held resource.
    pub held: Option<&'a HeldResource>,
    /// The action that is already planned for it, by an earlier entry or because it is owed from an earlier run.
    pub earlier: Option<&'a Action>,
    /// The time of its last applied change, if it is known and plausible: for a held resource that of the change that
    /// brought it, otherwise that of its deletion.
    pub changed: Option<DateTime>,
    /// The time of the deletion of a held resource that the operator keeps, unless a later change created it again.
    pub deleted: Option<DateTime>,
    /// `true` if the held file is missing or differs from the state.
    pub is_damaged: bool,
    /// `true` if it could not be fetched in this run, and the changes are read again for an explanation.
    pub is_awaited: bool,
    /// `true` if another set that holds it has described it later than the inventory.
    pub is_described_since: bool,
    /// `true` if the held resource has an implausible time, so that its true time is unknown (O33).
    pub is_misdated: bool,
}

impl Known<'_> {
    /// Returns the time of the last known change of a held resource, or of its deletion.
    pub(crate) fn last_change(&self) -> Option<DateTime> {
        self.held.and(self.changed).max(self.deleted)
    }
}

/// The decision about one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The plan stays as it is: it has a later change.
    Superseded,
    /// Nothing is done, and an earlier action of the plan is dropped.
    Rest(Rest),
    /// This action is done, replacing an earlier one of the plan.
    Act(ActionKind),
}

/// The reason why nothing is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The copy agrees with the entry: equal bytes, or a deletion of a resource that is not held.
    Equal,
    /// The copy has a later state than the inventory: a newer version, or a later deletion.
    HeldIsLater,
    /// The operator's selection or limit leaves the resource out: what is held of it stays.
    Excluded,
}

/// Decides about one resource. The rows are tried from the top, and the first that matches applies.
///
/// | the plan says | desired | held | then |
/// |---|---|---|---|
/// | something of a later place | anything | anything | [`Superseded`](Decision::Superseded) |
/// | something after the time of the inventory, or of the entry if that has none | anything, by an inventory | anything | superseded |
/// | something of a time | anything, by an inventory and an entry without a time | anything | superseded |
/// | something | [`Excluded`](DesiredPresence::Excluded) | something damaged, unless the bytes are [`Stale`](Currency::Stale) | superseded: a repair is for all that is held |
/// | | excluded | anything | rest, excluded |
/// | | anything but excluded, by a change of a time | something undamaged that changed later, or nothing since a later deletion | rest, held is later (or **leave**, if the later change came from another set: `Merging::decide`) |
/// | | [`Absent`](DesiredPresence::Absent) since a time | nothing, and no deletion of that time or later is known | **leave**: the deletion is written down |
/// | | absent | nothing | rest, equal |
/// | | absent | something that another set holds too | **leave**: the set gives it up, the file stays |
/// | | absent | something, and deleting is on | **delete** |
/// | | absent | something, and deleting is off | **keep**: it counts as kept, and the time of the deletion is written down if the entry states it |
/// | | present or unclear, by an inventory | something that was deleted after the time of the inventory, or of the entry if that has none, or if the entry has none either and the inventory was applied before or lists neither other bytes nor digests of other algorithms | **keep** |
/// | | present or unclear, by an inventory | nothing, since a deletion after the time of the inventory, or of the entry if that has none, or if the entry has none either | rest, held is later |
/// | | [`Unclear`](DesiredPresence::Unclear) | nothing | **create** |
/// | | unclear | something | **check**: ask whether it is current |
/// | | [`Present`](DesiredPresence::Present) | nothing | **create** |
/// | | present | something damaged | **update** |
/// | | present, by an inventory | something changed after the time of the inventory, or of the entry if that has none | rest, held is later |
/// | | present, by the inventory that was applied | stale bytes that another set holds too, and nothing of it is pending | rest, held is later |
/// | | present, by an inventory | bytes that are not current, and that another set described later than that, and nothing of it is pending | rest, held is later |
/// | | present, by an inventory and an entry without a time | stale bytes of a change, or that were deleted | **check**, whatever the entry says |
/// | | present, by an inventory without a time | stale bytes of a time that cannot be | **check**, whatever the entry says |
/// | | present | [`Stale`](Currency::Stale) bytes | **update** |
/// | | present | bytes of [`Unknown`](Currency::Unknown) currency | **check** |
/// | | present, by a change | current bytes that were deleted before it | **check** |
/// | | present, by a change that is new by its place in its list or by its time | current bytes, and no equal digest | **check** |
/// | | present | [`Current`](Currency::Current) bytes by a time that may be that of later ones too, and no equal digest | **check** |
/// | | present | current bytes by their time, and digests of other algorithms | **check** |
/// | | present | current bytes with other links than are named | **note** them |
/// | | present | current bytes | rest, equal |
///
/// [`supersedes`] says which place is later (DST-6, AMB-B16): the time of the change, and the order of reading where
/// times are equal or missing.
pub(crate) fn decide(desired: &Desired, known: Known<'_>, rules: &DecisionRules) -> Decision {
    use Decision::{Act, Rest as Nothing};
    if let Some(Action { desired: earlier, .. }) = known.earlier
        && (!supersedes(desired.place(), earlier.place())
            || rules.may_precede(desired, earlier.metadata.datetime))
    {
        return Decision::Superseded;
    }
    match (desired.presence, known.held) {
        (DesiredPresence::Excluded, Some(held))
            if known.is_damaged
                && known.earlier.is_some()
                && currency_of(held, desired) != Currency::Stale =>
        {
            Decision::Superseded
        }
        (DesiredPresence::Excluded, _) => Nothing(Rest::Excluded),
        _ if is_overtaken(desired, known) => Nothing(Rest::HeldIsLater),
        (DesiredPresence::Absent, None) if is_later_than(desired, known.changed) => Act(ActionKind::Leave),
        (DesiredPresence::Absent, None) => Nothing(Rest::Equal),
        (DesiredPresence::Absent, Some(held)) => Act(removal(held, rules.set, rules.delete)),
        // An old inventory may still list a resource whose later deletion is known (O30).
        (_, Some(held))
            if known.deleted.is_some()
                && rules.may_precede(desired, known.deleted)
                && !rules.brings_back(desired, held) =>
        {
            Act(ActionKind::Keep)
        }
        (DesiredPresence::Unclear | DesiredPresence::Present, None)
            if rules.may_precede(desired, known.changed) =>
        {
            Nothing(Rest::HeldIsLater)
        }
        (DesiredPresence::Unclear | DesiredPresence::Present, None) => Act(ActionKind::Create),
        (DesiredPresence::Unclear, Some(_)) => Act(ActionKind::Check),
        // Damage is checked before the comparison: the state still records a damaged file as current.
        (DesiredPresence::Present, Some(_)) if known.is_damaged => Act(ActionKind::Update),
        (DesiredPresence::Present, Some(_)) if is_later(known.changed, rules.time_of(desired)) => {
            Nothing(Rest::HeldIsLater)
        }
        (DesiredPresence::Present, Some(held)) => {
            match currency_of(held, desired) {
                currency if rules.is_of_another_set(currency, held, &known) => Nothing(Rest::HeldIsLater),
                Currency::Stale if rules.leave_open(desired, known) => Act(ActionKind::Check),
                Currency::Stale => Act(ActionKind::Update),
                Currency::Unknown => Act(ActionKind::Check),
                Currency::Current if is_unproven(held, desired) => Act(ActionKind::Check),
                // The resource exists again, and the time of the answer shows since when.
                Currency::Current if known.deleted.is_some() && desired.says_when => Act(ActionKind::Check),
                // A new change with the held time of modification contradicts itself, so a request decides (O263).
                Currency::Current if is_unseen(desired, held, known) => Act(ActionKind::Check),
                Currency::Current if has_other_links(held, desired, rules) => Act(ActionKind::Note),
                Currency::Current => Nothing(Rest::Equal),
            }
        }
    }
}

fn currency_of(held: &HeldResource, desired: &Desired) -> Currency {
    currency(Fixity::of_metadata(&held.metadata), Fixity::of_metadata(&desired.metadata))
}

/// Returns `true` if an entry is a change that is older than the last applied one. A later list may have been applied
/// while the list of this change was lost (O16).
fn is_overtaken(desired: &Desired, known: Known<'_>) -> bool {
    let is_damaged = known.is_damaged && desired.presence != DesiredPresence::Absent;
    desired.says_when && !is_damaged && is_later(known.changed, desired.metadata.datetime)
}

/// Returns `true` if a change is later than an inventory. The inventory then decides nothing about the resource, even
/// by not naming it: applied changes are not undone.
pub(crate) fn is_later(change: Option<DateTime>, inventory: Option<DateTime>) -> bool {
    matches!((change, inventory), (Some(change), Some(at)) if at.end() <= change.instant())
}

/// Returns the time that decides between an inventory and the applied changes. An inventory that was applied before is
/// older than all of them, even those of its own day or second (O15).
pub(crate) fn deciding_time(at: Option<DateTime>, was_applied: bool) -> Option<DateTime> {
    at.map(|at| if was_applied { DateTime::from_unix_micros(at.unix_micros() - 1) } else { at })
}

/// Returns `true` if an entry has a time, and no change of that time or later is known.
fn is_later_than(desired: &Desired, known: Option<DateTime>) -> bool {
    let time = desired.metadata.datetime;
    time.is_some_and(|time| known.is_none_or(|known| known.unix_micros() < time.unix_micros()))
}

/// Returns `true` if an entry is a new change, and only its time of modification indicates that the held bytes are the
/// desired ones.
fn is_unseen(desired: &Desired, held: &HeldResource, known: Known<'_>) -> bool {
    let is_new = desired.is_appended || desired.says_when && is_later_than(desired, known.changed);
    is_new && !has_equal_digest(held, desired)
}

/// Returns `true` if an equal time does not show that the held bytes are the desired ones: later ones may have it too, or
/// the entry has only digests of other algorithms.
fn is_unproven(held: &HeldResource, desired: &Desired) -> bool {
    held.is_racy && !has_equal_digest(held, desired)
        || share_no_algorithm(&held.metadata.digests, &desired.metadata.digests)
}

/// Returns `true` if a digest shows that the held bytes are the desired ones.
fn has_equal_digest(held: &HeldResource, desired: &Desired) -> bool {
    held.metadata.digests.agrees_with(&desired.metadata.digests) == Some(true)
}

/// Returns `true` if the links of current bytes are others now. Several inventories may list one resource, and the
/// target of a link has no links there: a document that names only some links counts if no other set holds the
/// resource.
fn has_other_links(held: &HeldResource, desired: &Desired, rules: &DecisionRules) -> bool {
    let links = desired.links_beside(&held.metadata.digests);
    let is_believed = match rules.links {
        LinksNamed::All => true,
        LinksNamed::Some => !links.is_empty() && held.is_only_in(rules.set),
    };
    is_believed && held.metadata.links != *links
}

#[cfg(test)]
mod tests;
