//! The one decision about a resource: what is done, given what it should be, what is held and what the plan says already.

use resourcesync::DateTime;

use super::{Currency, Desired, DesiredPresence, Fixity, currency, supersedes};
use crate::state::{Action, ActionKind, Held, SetId};

/// The rules that hold for all entries of a document.
#[derive(Clone, Copy, Debug)]
pub struct DecisionRules {
    /// The set that the document speaks for.
    pub set: SetId,
    /// `true` if what the Source says is gone is removed from the copy (DST-4).
    pub delete: bool,
    /// Which links an entry names.
    pub links: LinksNamed,
    /// The time of the inventory that the entries come from. `None` for changes, and for an inventory without a time.
    pub inventory: Option<DateTime>,
}

/// Which links of its resource an entry names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinksNamed {
    /// All of them, as a Change List does (§12): a link that it does not name is gone.
    All,
    /// Those that it knows, as an inventory or the manifest of a package does: no links say nothing.
    Some,
}

/// The knowledge about a resource beside its desired state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// The held resource.
    pub held: Option<&'a Held>,
    /// The action that is already planned for it, by an earlier entry or because it is owed from an earlier run.
    pub earlier: Option<&'a Action>,
    /// `true` if the held file is missing or not what the state says.
    pub is_damaged: bool,
}

/// The decision about one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The plan stays as it is: it knows of a later change.
    Superseded,
    /// Nothing is done, and what the plan said earlier is dropped.
    Rest(Rest),
    /// This is done, in place of what the plan said earlier.
    Act(ActionKind),
}

/// Why nothing is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The copy is what the entry says: equal bytes, or nothing held of what is gone.
    Equal,
    /// The copy holds a later state than the inventory is of.
    HeldIsLater,
    /// The operator's selection leaves it out.
    Excluded,
    /// It is gone, and the operator keeps it.
    Kept,
}

/// Decides about one resource. The rows are tried from the top; the first that fits is taken.
///
/// | the plan says | desired | held | then |
/// |---|---|---|---|
/// | something of a later place | anything | anything | [`Superseded`](Decision::Superseded) |
/// | | [`Excluded`](DesiredPresence::Excluded) | anything | rest, excluded |
/// | | [`Absent`](DesiredPresence::Absent) | nothing | rest, equal |
/// | | absent | something that another set holds too, and deleting is on | **leave**: the set gives it up, the file stays |
/// | | absent | something, and deleting is on | **delete** |
/// | | absent | something, and deleting is off | rest, kept |
/// | | [`Unclear`](DesiredPresence::Unclear) | nothing | **create** |
/// | | unclear | something | **check**: ask whether it is current |
/// | | [`Present`](DesiredPresence::Present) | nothing | **create** |
/// | | present | something damaged | **update** |
/// | | present, by an inventory | something changed after the time of the inventory | rest, held is later |
/// | | present | [`Stale`](Currency::Stale) bytes | **update** |
/// | | present | bytes of [`Unknown`](Currency::Unknown) currency | **check** |
/// | | present | [`Current`](Currency::Current) bytes with other links than are named | **note** them |
/// | | present | current bytes | rest, equal |
///
/// Which place is later, [`supersedes`] says (DST-6, AMB-B16): the time of the change, and the order of reading where times are
/// equal or missing.
pub fn decide(desired: &Desired, known: Known<'_>, rules: &DecisionRules) -> Decision {
    use Decision::{Act, Rest as Nothing};
    if let Some(earlier) = known.earlier
        && !supersedes(desired.place(), earlier.desired.place())
    {
        return Decision::Superseded;
    }
    match (desired.presence, known.held) {
        (DesiredPresence::Excluded, _) => Nothing(Rest::Excluded),
        (DesiredPresence::Absent, None) => Nothing(Rest::Equal),
        (DesiredPresence::Absent, Some(held)) if rules.delete => Act(removal(held, rules.set)),
        (DesiredPresence::Absent, Some(_)) => Nothing(Rest::Kept),
        (DesiredPresence::Unclear | DesiredPresence::Present, None) => Act(ActionKind::Create),
        (DesiredPresence::Unclear, Some(_)) => Act(ActionKind::Check),
        (DesiredPresence::Present, Some(_)) if known.is_damaged => Act(ActionKind::Update),
        (DesiredPresence::Present, Some(held)) if is_later(held, rules.inventory) => {
            Nothing(Rest::HeldIsLater)
        }
        (DesiredPresence::Present, Some(held)) => {
            match currency(Fixity::of_facts(&held.facts), Fixity::of_facts(&desired.facts)) {
                Currency::Stale => Act(ActionKind::Update),
                Currency::Unknown => Act(ActionKind::Check),
                Currency::Current if has_other_links(held, desired, rules) => Act(ActionKind::Note),
                Currency::Current => Nothing(Rest::Equal),
            }
        }
    }
}

/// Returns how a set gives up what is held: the file goes when the last set drops it (B16).
pub fn removal(held: &Held, set: SetId) -> ActionKind {
    if held.is_only_in(set) { ActionKind::Delete } else { ActionKind::Leave }
}

/// Returns `true` if a held resource is of a later state than an inventory, which therefore says nothing about it: the changes
/// that were applied since are not to be taken back, whether the inventory names the resource or not.
pub fn is_later(held: &Held, inventory: Option<DateTime>) -> bool {
    matches!((held.facts.datetime, inventory), (Some(held), Some(at)) if at.end() <= held.instant())
}

/// Returns `true` if the links of current bytes are others now. Several inventories may list one resource, and the target of a
/// link has no links there: what names only some links is believed if no other set holds the resource.
fn has_other_links(held: &Held, desired: &Desired, rules: &DecisionRules) -> bool {
    let is_believed = match rules.links {
        LinksNamed::All => true,
        LinksNamed::Some => !desired.facts.links.is_empty() && held.is_only_in(rules.set),
    };
    is_believed && held.facts.links != desired.facts.links
}

#[cfg(test)]
mod tests;
