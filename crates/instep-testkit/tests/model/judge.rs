//! Compares the outcome of a phase with the naive model.

use std::collections::{BTreeMap, BTreeSet};

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

/// A phase: the documents served, the broken paths, and the files that were held before it.
pub(crate) struct Phase {
    pub(crate) site: Site,
    pub(crate) broken: BTreeMap<String, Break>,
    pub(crate) before: BTreeMap<String, Vec<u8>>,
}

/// The outcome of a run and of the audit after it.
pub(crate) struct Ended {
    pub(crate) sync: u8,
    pub(crate) audit: u8,
    /// `true` if the run knows what the copy covers.
    pub(crate) is_covered: bool,
    /// `true` if the run says that the copy equals the Source.
    pub(crate) is_in_step: bool,
    /// `true` if the run compared the complete copy with an inventory, and did not only follow changes.
    pub(crate) compared_all: bool,
    /// The differences between the run and an audit before it.
    pub(crate) contradictions: Vec<String>,
}

impl Story<'_> {
    /// Returns the right state of each path, by all sets together.
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

    /// Returns the files that are held although no version of them was ever published.
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

    /// Returns the differences from the model; empty if there are none.
    pub(crate) fn judge(&self, phase: &Phase, verdicts: &[Verdict], ended: &Ended) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut held = files(self.copy.path());
        if self.clock_went_back && !(ended.sync == 0 && ended.is_covered) {
            // The order of changes cannot be known, and the run reports it. Only unknown files are wrong.
            return self.unknown(&held);
        }
        // The limit concerns new resources only: resources that are held beyond it stay.
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
                is_kept: !self.wishes.delete || self.wishes.guard || self.has_vanished(set),
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
        // While no document names its set, a damaged resource may have got other bytes at the Source, and so may one that was
        // left out before a gap.
        let may_be_unknown =
            self.repairs && self.source.vanished.is_some() || self.was_narrow && !ended.is_covered;
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
        // Of resources kept after a deletion without a time only the number is known, so a return may not be noticed.
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
        // Run and audit may need different documents, so a broken one may concern only one of them.
        let alike = phase.broken.is_empty() || misses || state.unsatisfied;
        // A repair leaves a damaged file that is not selected pending, and an audit does not look at it. Changes of
        // resources that are not selected are forgotten, so that an inventory without a time may seem to be later.
        let alike = alike && !(state.holds_left_out && (self.oddities.damages || !is_certain));
        // Deletions make room for resources that the limit left out, which the next run with an inventory adds.
        let alike = alike && (self.wishes.limit.is_none() || !(has_deleted || phase.site.takes_back()));
        // If the limit is reached, an audit expects the resources that the inventory lists first. A run that follows
        // changes adds none to a copy that already holds as many others.
        let is_cut = self.wishes.limit.is_some_and(|limit| limit < state.resources);
        let fills_alike = ended.compared_all || !is_cut;
        // An audit reads the list of the other set, which a run skips, or knows that nobody has it any more (O416).
        let alike = alike && fills_alike && !state.holds_given_up;
        if (ended.sync == 0) != (ended.audit == 0) && alike && !state.kept_surplus && !doubtful {
            wrong.push(format!("sync ends with {}, audit with {}", ended.sync, ended.audit));
        }
        // In a repair, missing files are no longer held, so it deletes less than an audit finds.
        if untroubled && !state.kept_surplus && !self.repairs && fills_alike {
            wrong.extend(ended.contradictions.iter().cloned());
        }
        wrong
    }
}

/// Returns the versions of a resource after those that may be right: what is fetched may be newer than what is listed.
fn later(set: &Set, resource: usize, expected: &Expected) -> BTreeSet<u32> {
    let right = expected.or.iter().chain([&expected.version]);
    right.flat_map(|version| set.versions_since(resource, *version)).collect()
}

/// The observations of all resources together.
#[derive(Default)]
struct Judged {
    /// The number of resources that exist or are held.
    resources: u64,
    /// `true` if a resource differs from what is listed.
    unsatisfied: bool,
    /// `true` if the listed state of a resource is not served any more, or cannot be fetched.
    stale: bool,
    /// `true` if a resource that could be deleted is kept, as the operator wants.
    kept_surplus: bool,
    /// `true` if a deleted resource is kept, and no document that may count lists it in the state that is held.
    kept_gone: bool,
    /// `true` if a resource that is not selected is held in an earlier state.
    holds_left_out: bool,
    /// `true` if a resource that one of two sets gave up is held, in a later state or because nothing is deleted.
    holds_given_up: bool,
}

struct Resource {
    is: Option<Vec<u8>>,
    was: Option<Vec<u8>>,
    served: Option<Vec<u8>>,
    right: Option<Vec<u8>>,
    /// The states after the right one: a resource that could not be fetched at first may have come in one of them.
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
        // The Source does not serve the listed state any more: the later changes were in a list that is lost.
        let outdated = self.right.is_some() && self.right != self.served;
        state.stale |= outdated || expected.is_contradicted || (self.is_broken && self.is != self.right);
        // If the documents do not tell if the resource was deleted, the server does.
        let is_gone = self.right.is_none() || self.served.is_none() && self.or.contains(&None);
        let is_surplus = is_gone && self.is.is_some() && self.is_kept && self.is == self.was;
        state.kept_surplus |= is_surplus;
        // A listed state, or a served one that may be right, is not surplus: an archive may count or not.
        let may_be_right = self.is == self.right || self.is == self.served && self.or.contains(&self.is);
        state.kept_gone |= is_surplus && !may_be_right;
        // The damaged file of a resource that is gone cannot be fetched again.
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
        // A state that may be right, and that the Source does not serve any more, cannot be fetched either.
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
