//! The comparison of a phase with what the naive model says.

use std::collections::{BTreeMap, BTreeSet};

use instep_destination::{AuditReport, SyncReport};

use crate::{
    documents::{Site, body},
    naive::{Expected, Verdict},
    run::{Story, files},
    server::Break,
    source::Set,
    wishes::Wishes,
};

/// The exit code of a run that was refused.
const REFUSED: u8 = 6;

/// A phase: what is broken in it, what was held before it.
pub(crate) struct Phase {
    pub(crate) site: Site,
    pub(crate) broken: BTreeMap<String, Break>,
    pub(crate) before: BTreeMap<String, Vec<u8>>,
}

/// The outcome of a run and of the audit after it.
pub(crate) struct Ended {
    pub(crate) sync: u8,
    pub(crate) audit: u8,
    /// The run knows what the copy covers.
    pub(crate) is_covered: bool,
    /// The run says that the copy equals the Source.
    pub(crate) is_in_step: bool,
    /// The run compared the complete copy with an inventory, and did not only follow changes.
    pub(crate) compared_all: bool,
    /// Everything that an audit before the run said otherwise than the run did.
    pub(crate) contradictions: Vec<String>,
}

impl Story<'_> {
    /// Returns the state of each path that is right.
    fn expected(&self, verdicts: &[Verdict]) -> BTreeMap<String, (&Set, usize, Expected)> {
        let mut all: BTreeMap<String, (&Set, usize, Expected)> = BTreeMap::new();
        for (set, verdict) in self.source.sets.iter().zip(verdicts) {
            for (resource, expected) in &verdict.resources {
                let path = set.path(*resource);
                let expected = match all.remove(&path) {
                    Some((_, _, other)) => expected.clone().with(other),
                    None => expected.clone(),
                };
                all.insert(path, (set, *resource, expected));
            }
        }
        all
    }

    /// Returns `true` if the Source does not name a set in this phase.
    fn has_vanished(&self, set: &Set) -> bool {
        self.source.vanished.is_some_and(|number| std::ptr::eq(&raw const self.source.sets[number], set))
    }

    /// Returns everything that is held and was never listed.
    fn unknown(&self, held: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
        let mut listed: BTreeMap<String, BTreeSet<Vec<u8>>> = BTreeMap::new();
        for set in &self.source.sets {
            for event in &set.events {
                let version = event
                    .version
                    .map(|version| body(&self.source.style, self.seed, set, event.resource, version));
                listed.entry(set.path(event.resource)).or_default().extend(version);
            }
        }
        let is_unknown = |(path, bytes): &(&String, &Vec<u8>)| {
            !listed.get(*path).is_some_and(|versions| versions.contains(*bytes))
        };
        held.iter().filter(is_unknown).map(|(path, _)| format!("{path} is what it never was")).collect()
    }

    /// Returns everything that is not as the model has it.
    pub(crate) fn judge(&self, phase: &Phase, verdicts: &[Verdict], ended: &Ended) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut held = files(self.copy.path());
        if self.clock_went_back && !(ended.sync == 0 && ended.is_covered) {
            // The order of what is listed cannot be known, and the run says so.
            return self.unknown(&held);
        }
        // The limit is about what an inventory lists first; what is held beyond that stays.
        let new = held.keys().filter(|path| !phase.before.contains_key(*path)).count() as u64;
        if self.wishes.limit.is_some_and(|limit| limit < new) {
            wrong.push(format!("{new} came, the limit is {:?}", self.wishes.limit));
        }
        let has_deleted = phase.before.keys().any(|path| !held.contains_key(path));
        let mut state = Judged::default();
        for (path, (set, resource, expected)) in self.expected(verdicts) {
            let now = set.state_at(i64::MAX);
            let bytes = |version| body(&self.source.style, self.seed, set, resource, version);
            let one = Resource {
                is: held.remove(&path),
                was: phase.before.get(&path).cloned(),
                served: now[resource].and_then(|event| event.version).map(bytes),
                right: expected.version.map(bytes),
                later: later(set, resource, &expected).into_iter().map(bytes).collect(),
                or: expected
                    .or
                    .iter()
                    .chain(expected.doubted.iter().filter(|_| ended.sync != 0))
                    .map(|version| version.map(bytes))
                    .collect(),
                is_broken: phase.broken.contains_key(&path),
                is_kept: !self.wishes.delete || self.wishes.guard,
                // A resource left out and no longer listed is in the gap that the run reports, or in a set without a name.
                is_left_out: self.wishes.may_leave_out(&path)
                    || self.was_narrow && (!ended.is_covered || self.has_vanished(set)),
            };
            one.judge(&path, &expected, &mut state, &mut wrong);
        }
        wrong.extend(held.keys().map(|path| format!("{path} is held, and nothing ever named it")));
        let misses = verdicts.iter().any(|verdict| verdict.misses);
        let doubtful = verdicts.iter().any(|verdict| verdict.doubtful);
        if self.clock_went_back {
            return wrong;
        }
        // While nothing names its set, a damaged resource may have got other bytes at the Source.
        let may_be_unknown = self.repairs && self.source.vanished.is_some();
        let untroubled = phase.broken.is_empty() && !state.stale && !doubtful && !may_be_unknown;
        let Wishes { guard, delete, .. } = self.wishes;
        let is_refused = guard && ended.sync == REFUSED;
        if guard && delete && state.kept_gone && untroubled && ended.sync == 0 && ended.is_covered {
            wrong.push("exit code 0, and a deletion was not allowed".to_owned());
        }
        if ended.sync == 0 && misses {
            wrong.push("exit code 0, and something new is listed where it could not be read".to_owned());
        }
        if ended.sync == 0 && state.unsatisfied {
            wrong.push("exit code 0, and something that is listed differs".to_owned());
        }
        if ended.is_in_step && (misses || state.unsatisfied || state.kept_gone) {
            wrong.push("in step, although something differs or is kept".to_owned());
        }
        let is_certain = phase.site.offers.iter().all(|offer| offer.certain);
        // Of what is kept since a deletion without a time only the number is known: a return may not be noticed.
        let is_counted = self.wishes.delete || is_certain;
        let is_whole = ended.sync == 0 && ended.is_covered && untroubled && !misses && is_counted;
        if !ended.is_in_step && is_whole && !state.unsatisfied && !state.kept_surplus {
            wrong.push("not in step, although nothing differs and nothing is kept".to_owned());
        }
        if ended.sync != 0 && untroubled && !(is_refused && state.kept_surplus) {
            wrong.push(format!("exit code {} although everything can be read and had", ended.sync));
        }
        let named =
            phase.site.offers.iter().enumerate().filter(|(set, _)| self.source.vanished != Some(*set));
        let anything_readable = named.map(|(_, offer)| offer).any(|offer| {
            // A dump that does not say its time may be older than the list that was applied.
            let usable = if offer.certain { 2 } else { 1 };
            let inventories = offer.inventories.iter().take(usable);
            let parts = inventories.flat_map(|inventory| &inventory.parts).chain(&offer.changes);
            parts.into_iter().any(|part| part.is_whole(&|path| phase.broken.contains_key(path)))
        });
        if !matches!(ended.sync, 0 | 3) && !is_refused && anything_readable {
            wrong.push(format!("exit code {}: what could be read was not used", ended.sync));
        }
        if !matches!(ended.audit, 0 | 3 | 20) && anything_readable {
            wrong.push(format!("audit ends with {}: what could be read was not used", ended.audit));
        }
        // A document that one of them does not need may be missed by the other.
        let alike = phase.broken.is_empty() || misses || state.unsatisfied;
        // A damaged file that is not selected is pending once a run has looked for damage; an audit has a selection of its own.
        // And changes of what is not selected are forgotten, so that an inventory without a time may seem to be later.
        let alike = alike && !(state.holds_left_out && (self.oddities.damages || !is_certain));
        // Deletions make room for what a limit left out; the next run that compares the complete copy adds it.
        let alike = alike && (self.wishes.limit.is_none() || !has_deleted);
        // A limit that is reached is about what an inventory lists first, as an audit reads it. Changes add nothing to a
        // copy that holds as many others.
        let is_cut = self.wishes.limit.is_some_and(|limit| limit < state.resources);
        let fills_alike = ended.compared_all || !is_cut;
        // An audit reads the list of the other set, or finds gone what only a set without a name still had (O416).
        let alike = alike && fills_alike && !state.holds_given_up;
        if (ended.sync == 0) != (ended.audit == 0) && alike && !state.kept_surplus && !doubtful {
            wrong.push(format!("sync ends with {}, audit with {}", ended.sync, ended.audit));
        }
        // A repair takes what is missing for no longer held, and so deletes less than an audit finds.
        if untroubled && !state.kept_surplus && !self.repairs && fills_alike {
            wrong.extend(ended.contradictions.iter().cloned());
        }
        wrong
    }
}

/// Returns what a run did otherwise than an audit just before it said. What could not be compared may turn out either way.
/// Bytes that are fetched and turn out to be those that were held contradict nobody.
pub(crate) fn contradictions(
    audit: &AuditReport,
    run: &SyncReport,
    changed: u64,
    deletes: bool,
) -> Vec<String> {
    let changes = audit.missing + audit.differing;
    let most = changes + audit.unauditable + audit.failed;
    let mut wrong = Vec::new();
    if run.created + run.updated < changes || changed > most {
        let (created, updated) = (run.created, run.updated);
        wrong.push(format!(
            "an audit finds {changes} to fetch, and then {created} are created, {updated} updated, {changed} are others"
        ));
    }
    if deletes && run.deleted != audit.surplus {
        wrong.push(format!("an audit finds {} to delete, and then {} are", audit.surplus, run.deleted));
    }
    wrong
}

/// Returns the versions of a resource after those that may be right: what is fetched may be newer than what is listed.
fn later(set: &Set, resource: usize, expected: &Expected) -> BTreeSet<u32> {
    let right = expected.or.iter().chain([&expected.version]);
    right.flat_map(|version| set.versions_since(resource, *version)).collect()
}

/// The observations of all resources.
#[derive(Default)]
struct Judged {
    /// The number of resources that exist or are held.
    resources: u64,
    /// Something is not as it is listed.
    unsatisfied: bool,
    /// Something that is listed is not what is served, or cannot be had.
    stale: bool,
    /// Something that may be deleted is kept, as the operator wants it.
    kept_surplus: bool,
    /// Something deleted is kept, and no document that may count says that it is as it is.
    kept_gone: bool,
    /// Something that is not selected is held in an earlier state.
    holds_left_out: bool,
    /// A resource of two sets that is gone is held, in a later state than one of them lists, or as nothing is deleted.
    holds_given_up: bool,
}

struct Resource {
    is: Option<Vec<u8>>,
    was: Option<Vec<u8>>,
    served: Option<Vec<u8>>,
    right: Option<Vec<u8>>,
    /// The states after the right one: a resource that could not be had at first may have come in one of them.
    later: Vec<Vec<u8>>,
    or: Vec<Option<Vec<u8>>>,
    is_broken: bool,
    is_kept: bool,
    is_left_out: bool,
}

impl Resource {
    fn judge(&self, path: &str, expected: &Expected, state: &mut Judged, wrong: &mut Vec<String>) {
        let states = [&self.is, &self.was, &self.right];
        state.resources += u64::from(states.into_iter().any(Option::is_some));
        // Listed is a state that the Source does not serve any more: the rest was in a list that is lost.
        let outdated = self.right.is_some() && self.right != self.served;
        state.stale |= outdated || (self.is_broken && self.is != self.right);
        // The documents may not tell if it was deleted; then what is served does.
        let is_gone = self.right.is_none() || self.served.is_none() && self.or.contains(&None);
        let is_surplus = is_gone && self.is.is_some() && self.is_kept && self.is == self.was;
        state.kept_surplus |= is_surplus;
        // A listed state, or a served one that may be right, is not surplus: an archive may count or not.
        let may_be_right = self.is == self.right || self.is == self.served && self.or.contains(&self.is);
        state.kept_gone |= is_surplus && !may_be_right;
        // Nothing can be had for the damaged file of a resource that is gone.
        state.stale |= is_surplus && self.is.as_deref() == Some(&b"damaged"[..]);
        let is_left_out = self.is_left_out && (self.is.is_none() || self.is == self.was);
        // A held resource that is not selected stays, or goes with a deletion that is known from before.
        state.holds_left_out |= is_left_out && self.is.is_some() && self.is != self.right;
        let stays = |is: &Vec<u8>| self.is_kept || self.is != self.right && self.later.contains(is);
        state.holds_given_up |= self.is.iter().any(stays) && self.served.is_none() && expected.may_wait;
        if self.is == self.right || self.or.contains(&self.is) || is_surplus || is_left_out {
            return;
        }
        let is_outdated = |state: &Option<Vec<u8>>| state.is_some() && *state != self.served;
        let may_be_later = outdated || self.or.iter().any(is_outdated);
        if may_be_later
            && (self.is == self.served || self.is.as_ref().is_some_and(|is| self.later.contains(is)))
        {
            return;
        }
        state.unsatisfied = true;
        // A state that may be right as well, and that the Source does not serve any more, cannot be had either.
        if (self.is_broken || may_be_later || expected.may_wait) && self.is == self.was {
            return;
        }
        let name = |bytes: &Option<Vec<u8>>| {
            let text = bytes.as_deref().map(String::from_utf8_lossy);
            text.map_or("absent".to_owned(), |text| text.lines().next().unwrap_or_default().to_owned())
        };
        wrong.push(format!(
            "{path} is {:?}; right is {:?} (version {:?}, or {:?}); it was {:?}, served is {:?}",
            name(&self.is),
            name(&self.right),
            expected.version,
            expected.or,
            name(&self.was),
            name(&self.served)
        ));
    }
}
