//! The decision, compared with a second statement of the table that was written independently of the first.

mod values;

use proptest::prelude::*;
use resourcesync::{DateTime, Digests};

use super::*;
use crate::{map::CopyPath, state::HeldAt};
use values::{SET, action, desired, held, rules, second, uri};

/// Returns the decision by the table in other words: as independent statements without an order.
fn stated(desired: &Desired, known: Known<'_>, rules: &DecisionRules) -> Decision {
    let time = |desired: &Desired| desired.metadata.datetime.map(|time| time.unix_micros());
    let is_outdated = known.earlier.is_some_and(|earlier| match (time(desired), time(&earlier.desired)) {
        (Some(new), Some(old)) if new != old => new < old,
        _ => desired.ordinal < earlier.desired.ordinal,
    });
    let same = |held: &HeldResource| -> Option<bool> {
        let (ours, theirs) = (&held.metadata, &desired.metadata);
        let (one, other) = (ours.digests.to_string(), theirs.digests.to_string());
        if !one.is_empty() && !other.is_empty() {
            return Some(one == other);
        }
        if ours.length.is_some() && theirs.length.is_some() && ours.length != theirs.length {
            return Some(false);
        }
        // The held bytes may have been replaced within the second that both sides state.
        let is_same = ours.lastmod.zip(theirs.lastmod).map(|(one, other)| one == other);
        is_same.filter(|is_same| !(*is_same && held.is_racy))
    };
    // Equal times say that the bytes are the same, although others may have come within that second: a request decides.
    let may_be_replaced = |held: &HeldResource| {
        let (ours, theirs) = (&held.metadata, &desired.metadata);
        held.is_racy && theirs.lastmod.is_some() && ours.lastmod == theirs.lastmod
    };
    let is_proven = |held: &HeldResource| {
        !held.metadata.digests.is_empty() && held.metadata.digests == desired.metadata.digests
    };
    let says_other_links = |held: &HeldResource| {
        let (ours, theirs) = (&held.metadata.links, &desired.metadata.links);
        let alone = held.sets == 1 << 3 || held.sets == 0;
        ours != theirs && (rules.links == LinksNamed::All || !theirs.is_empty() && alone)
    };
    let is_past = |time: Option<DateTime>| match (time, rules.inventory) {
        (Some(time), Some(at)) => time.unix_micros() > at.unix_micros(),
        _ => false,
    };
    let is_older_than = |known: Option<DateTime>| match (known, time(desired)) {
        (Some(known), Some(time)) => known.unix_micros() > time,
        _ => false,
    };
    // A change that has the time of an entry came after an inventory that was applied.
    let is_not_covered = |known: Option<DateTime>| {
        let is_of_its_time = known.is_some() && known.map(|known| known.unix_micros()) == time(desired);
        is_older_than(known) || rules.was_applied && is_of_its_time
    };
    let may_be_older = |change: Option<DateTime>| {
        let is_unknown = time(desired).is_none() && change.is_some();
        is_past(change) || rules.is_undated && (is_not_covered(change) || is_unknown)
    };
    let is_silent = rules.is_undated && time(desired).is_none();
    let is_contradicted_anew = |held: &HeldResource| {
        let is_new = is_silent && !rules.was_applied;
        is_new && desired.presence == DesiredPresence::Present && same(held) == Some(false)
    };
    let is_pending_past =
        known.earlier.is_some_and(|earlier| may_be_older(earlier.desired.metadata.datetime));
    if is_outdated || is_pending_past {
        return Decision::Superseded;
    }
    let is_wanted_anew = known.is_damaged && desired.presence != DesiredPresence::Absent;
    if desired.says_when
        && desired.presence != DesiredPresence::Excluded
        && !is_wanted_anew
        && is_older_than(known.changed)
    {
        return Decision::Rest(Rest::HeldIsLater);
    }
    match known.held {
        None => match desired.presence {
            DesiredPresence::Present | DesiredPresence::Unclear if may_be_older(known.changed) => {
                Decision::Rest(Rest::HeldIsLater)
            }
            DesiredPresence::Present | DesiredPresence::Unclear => Decision::Act(ActionKind::Create),
            DesiredPresence::Absent if known.changed.is_none() && desired.metadata.datetime.is_some() => {
                Decision::Act(ActionKind::Leave)
            }
            DesiredPresence::Absent if time(desired) > known.changed.map(|gone| gone.unix_micros()) => {
                Decision::Act(ActionKind::Leave)
            }
            DesiredPresence::Absent => Decision::Rest(Rest::Equal),
            DesiredPresence::Excluded => Decision::Rest(Rest::Excluded),
        },
        Some(held) => match desired.presence {
            DesiredPresence::Absent if held.sets & !(1 << 3) != 0 => Decision::Act(ActionKind::Leave),
            DesiredPresence::Absent if rules.delete => Decision::Act(ActionKind::Delete),
            DesiredPresence::Absent => Decision::Act(ActionKind::Keep),
            DesiredPresence::Excluded
                if known.is_damaged && known.earlier.is_some() && same(held) != Some(false) =>
            {
                Decision::Superseded
            }
            DesiredPresence::Excluded => Decision::Rest(Rest::Excluded),
            DesiredPresence::Present | DesiredPresence::Unclear
                if may_be_older(known.deleted) && !is_contradicted_anew(held) =>
            {
                Decision::Act(ActionKind::Keep)
            }
            DesiredPresence::Unclear => Decision::Act(ActionKind::Check),
            DesiredPresence::Present if known.is_damaged => Decision::Act(ActionKind::Update),
            DesiredPresence::Present if is_past(known.changed) => Decision::Rest(Rest::HeldIsLater),
            DesiredPresence::Present if rules.is_undated && is_not_covered(known.changed) => {
                Decision::Rest(Rest::HeldIsLater)
            }
            DesiredPresence::Present => match same(held) {
                Some(false)
                    if !(known.is_awaited || known.earlier.is_some())
                        && (known.is_described_since
                            || rules.was_applied && held.sets & (1 << 3) != 0 && held.sets != 1 << 3) =>
                {
                    Decision::Rest(Rest::HeldIsLater)
                }
                Some(false) if is_silent && (known.changed.is_some() || known.deleted.is_some()) => {
                    Decision::Act(ActionKind::Check)
                }
                Some(false) => Decision::Act(ActionKind::Update),
                None if known.is_described_since
                    && !(may_be_replaced(held) || known.is_awaited || known.earlier.is_some()) =>
                {
                    Decision::Rest(Rest::HeldIsLater)
                }
                None => Decision::Act(ActionKind::Check),
                Some(true) if known.deleted.is_some() && desired.says_when => {
                    Decision::Act(ActionKind::Check)
                }
                Some(true)
                    if !is_proven(held)
                        && (desired.is_appended
                            || desired.says_when
                                && time(desired) > known.changed.map(|changed| changed.unix_micros())) =>
                {
                    Decision::Act(ActionKind::Check)
                }
                Some(true) if says_other_links(held) => Decision::Act(ActionKind::Note),
                Some(true) => Decision::Rest(Rest::Equal),
            },
        },
    }
}

/// Returns the time of the last change of a resource.
fn last_change(held: Option<&HeldResource>, gone: Option<DateTime>) -> Option<DateTime> {
    held.map_or(gone, |held| held.metadata.datetime)
}

/// Returns the held resource after a decision was carried out.
fn carried_out(decision: Decision, desired: &Desired, held: Option<HeldResource>) -> Option<HeldResource> {
    match decision {
        Decision::Act(ActionKind::Keep) | Decision::Rest(_) | Decision::Superseded => held,
        Decision::Act(ActionKind::Delete | ActionKind::Leave) => None,
        Decision::Act(_) => {
            let (id, sets) = held.as_ref().map_or((1, 1 << 3), |held| (held.id, held.sets));
            let path = CopyPath::from_state("a").unwrap();
            Some(HeldResource {
                uri: uri(),
                path,
                place: HeldAt::Path,
                metadata: desired.metadata.clone(),
                id,
                sets,
                is_racy: false,
            })
        }
    }
}

#[test]
fn o947_a_kept_resource_is_requested_if_a_new_inventory_has_digests_of_other_algorithms() {
    let listed = |text: &str| {
        let mut desired = Desired::new(uri());
        desired.metadata.digests = Digests::parse(text, |error| panic!("{error}"));
        desired
    };
    let (ours, changed) = (format!("md5:{:032x}", 7), format!("md5:{:032x}", 8));
    let other = format!("sha-256:{:064x}", 7);
    let held = HeldResource {
        uri: uri(),
        path: CopyPath::from_state("a").unwrap(),
        place: HeldAt::Path,
        metadata: listed(&ours).metadata,
        id: 1,
        sets: 1 << 3,
        is_racy: false,
    };
    let decided = |desired: Desired, was_applied: bool| {
        let (changed, deleted) = (Some(second(1)), Some(second(2)));
        let known = Known { held: Some(&held), changed, deleted, ..Known::default() };
        let links = LinksNamed::Some;
        let rules =
            DecisionRules { set: SET, delete: false, links, inventory: None, is_undated: true, was_applied };
        decide(&desired, known, &rules)
    };
    assert_eq!(decided(listed(&other), false), Decision::Act(ActionKind::Check));
    assert_eq!(decided(listed(&other), true), Decision::Act(ActionKind::Keep), "it is the one from before");
    assert_eq!(decided(listed(&changed), false), Decision::Act(ActionKind::Check));
    assert_eq!(decided(listed(&ours), false), Decision::Act(ActionKind::Keep), "it may be older");
    assert_eq!(decided(Desired::new(uri()), false), Decision::Act(ActionKind::Keep), "it shows nothing");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_096))]

    #[test]
    fn the_decision_is_what_the_table_says(
        desired in desired(),
        held in prop::option::of(held()),
        earlier in prop::option::of(action()),
        (is_damaged, is_awaited, is_described_since) in any::<(bool, bool, bool)>(),
        gone in prop::option::of(0i64..6),
        deleted in prop::option::of(0i64..6),
        rules in rules(),
    ) {
        let changed = last_change(held.as_ref(), gone.map(second));
        let deleted = deleted.map(second).filter(|_| held.is_some());
        let known = Known {
            held: held.as_ref(),
            earlier: earlier.as_ref(),
            changed,
            deleted,
            is_damaged,
            is_misdated: false,
            is_awaited,
            is_described_since,
        };
        prop_assert_eq!(decide(&desired, known, &rules), stated(&desired, known, &rules));
    }

    #[test]
    fn a_decision_that_was_carried_out_leaves_nothing_to_do(
        mut desired in desired(),
        held in prop::option::of(held()),
        is_damaged in any::<bool>(),
        rules in rules(),
    ) {
        // A resource that has nothing to compare is requested each time, so it gets a digest.
        desired.metadata.digests = Digests::parse(&format!("md5:{:032x}", 7), |_| {});
        if desired.presence == DesiredPresence::Unclear {
            desired.presence = DesiredPresence::Present;
        }
        let changed = last_change(held.as_ref(), None);
        let known = Known { held: held.as_ref(), changed, is_damaged, ..Known::default() };
        let first = decide(&desired, known, &rules);
        let after = carried_out(first, &desired, held);
        let gone = desired.metadata.datetime.filter(|_| desired.presence == DesiredPresence::Absent);
        let changed = last_change(after.as_ref(), gone);
        let deleted = gone.filter(|_| after.is_some());
        let known = Known { held: after.as_ref(), changed, deleted, ..Known::default() };
        let again = decide(&desired, known, &rules);
        // A deletion that is not carried out is counted by each plan that reads it.
        let is_at_rest = matches!(again, Decision::Rest(_) | Decision::Act(ActionKind::Keep));
        prop_assert!(is_at_rest, "{first:?}, then {again:?}");
    }

    /// Two changes of different times lead to the same plan in either order, unless the later one asks for nothing:
    /// then nothing in the plan has its time, which is why documents are folded before the decisions.
    #[test]
    fn the_order_of_reading_does_not_matter_between_changes_that_act(
        mut older in desired(),
        mut newer in desired(),
        held in prop::option::of(held()),
        rules in rules(),
    ) {
        (older.metadata.datetime, newer.metadata.datetime) = (Some(second(1)), Some(second(2)));
        let rules = DecisionRules { inventory: None, is_undated: false, was_applied: false, ..rules };
        let decided = |desired: &Desired, earlier: Option<Action>| {
            let changed = last_change(held.as_ref(), None);
            let known =
                Known { held: held.as_ref(), earlier: earlier.as_ref(), changed, ..Known::default() };
            match decide(desired, known, &rules) {
                Decision::Superseded => earlier,
                Decision::Rest(_) => None,
                Decision::Act(kind) => Some(Action::new(kind, desired.clone())),
            }
        };
        let alone = decided(&newer, None);
        if alone.is_none() {
            return Ok(());
        }
        let forwards = decided(&newer, decided(&older, None));
        let backwards = decided(&older, decided(&newer, None));
        prop_assert_eq!(&forwards, &alone);
        prop_assert_eq!(&backwards, &alone);
    }
}
