//! The naive model of the copy that a Destination must hold: the newest claim about each resource, kept in maps.

use std::collections::{BTreeMap, BTreeSet};

use crate::documents::{Claim, Inventory, Offer, Part};

/// The knowledge of a set from everything that could be read so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge {
    newest: BTreeMap<usize, Claim>,
    /// The time up to which every change is known; `None` before the first run.
    until: Option<i64>,
    /// `true` since only some parts of an inventory could be read, until all of one can: what the others list waits, and so
    /// do the changes that a later list no longer has.
    waits: bool,
    /// States of a resource that were right as well, because the documents did not tell which is newer, with the newest
    /// claim at that time. They stay right until there is another claim.
    perhaps: BTreeMap<usize, (Option<Claim>, BTreeSet<Option<u32>>)>,
}

/// The state that a resource must have after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    /// The newest version listed, or `None` if the resource is absent.
    pub(crate) version: Option<u32>,
    /// Other states that are right as well, because the documents do not tell which is newer.
    pub(crate) or: Vec<Option<u32>>,
    /// Further such states, if the run says that something could not be read.
    pub(crate) doubted: Vec<Option<u32>>,
    /// `true` if the resource may stay as it was, provided that the run reports that it could not do everything.
    pub(crate) may_wait: bool,
    /// `true` if another set lists an earlier state, which the Source does not serve any more.
    pub(crate) is_contradicted: bool,
}

impl Expected {
    fn new(version: Option<u32>, may_wait: bool) -> Self {
        Self { version, or: Vec::new(), doubted: Vec::new(), may_wait, is_contradicted: false }
    }

    /// Returns the state of a resource of two sets. It exists while one of them names it, and the newer version counts.
    /// Versions of a shared resource are numbered across both sets.
    pub(crate) fn with(self, other: Self) -> Self {
        let (version, older) = (self.version.max(other.version), self.version.min(other.version));
        let may_wait = self.may_wait || other.may_wait || version != older;
        let is_contradicted = older.is_some() && version != older;
        let doubted = [self.doubted, other.doubted].concat();
        Self { version, or: [self.or, other.or].concat(), doubted, may_wait, is_contradicted }
    }
}

/// The right outcome of a run over one set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) resources: BTreeMap<usize, Expected>,
    /// `true` if a document that cannot be read lists something new.
    pub(crate) misses: bool,
    /// `true` if an old inventory contradicts lists that are gone. Then the exit codes 0 and 3 are both right.
    pub(crate) doubtful: bool,
}

impl Knowledge {
    /// Returns the right outcome while the Source does not name the set: everything stays.
    pub(crate) fn stay(&mut self) -> Verdict {
        let state = |claim: &Claim| Expected::new(claim.version, true);
        let resources = self.newest.iter().map(|(resource, claim)| (*resource, state(claim))).collect();
        let mut verdict = Verdict { resources, ..Verdict::default() };
        self.remember_perhaps(&mut verdict, true);
        verdict
    }

    /// Adds the states that may still be held from an earlier phase to a verdict, and keeps those of this phase.
    fn remember_perhaps(&mut self, verdict: &mut Verdict, may_wait: bool) {
        self.perhaps.retain(|resource, (claim, _)| self.newest.get(resource) == claim.as_ref());
        for (resource, (_, versions)) in &self.perhaps {
            let absent = Expected::new(None, may_wait);
            verdict.resources.entry(*resource).or_insert(absent).or.extend(versions);
        }
        for (resource, expected) in &verdict.resources {
            let others = [&expected.or[..], &expected.doubted].concat();
            if !others.is_empty() {
                let claim = self.newest.get(resource).copied();
                self.perhaps.entry(*resource).or_insert((claim, BTreeSet::new())).1.extend(others);
            }
        }
    }

    /// Keeps absence right for a resource that was perhaps absent, while only inventories name it that may be older
    /// than its deletion: an inventory does not undo a change (O11).
    fn stay_absent(&mut self, offer: &Offer) {
        let changes = || offer.changes.iter().chain(&offer.archived).flat_map(|part| &part.claims);
        for (resource, (claim, versions)) in &mut self.perhaps {
            let newest = self.newest.get(resource);
            if !offer.certain && newest != claim.as_ref() && !changes().any(|one| Some(one) == newest) {
                *claim = newest.copied();
                versions.retain(Option::is_none);
            }
        }
    }

    /// Reads everything that is published, except for the broken paths. Returns the right outcome. The copy `was_narrow`
    /// if resources may have been left out before.
    pub(crate) fn read(
        &mut self,
        offer: &Offer,
        broken: &BTreeSet<String>,
        published: i64,
        was_narrow: bool,
    ) -> Verdict {
        let is_whole = |part: &Part| part.is_whole(&|path| broken.contains(path));
        let before = self.newest.clone();
        // A copy that never read everything knows the changes up to the inventory, if all parts of that can be read.
        let inventories = offer.inventories.iter().filter(|inventory| inventory.parts.iter().all(is_whole));
        let until = self.until.or(inventories.map(|inventory| inventory.at).max());
        let continuous = until.is_none_or(|until| offer.covered_from <= until);
        let bridged = !continuous && until.is_some_and(|until| offer.archived_from <= until);
        let mut verdict = Verdict::default();

        // `whole` has everything that is published, readable or not.
        let mut whole = self.newest.clone();
        note_offer(&mut whole, offer, &|_| true);
        note_offer(&mut self.newest, offer, &is_whole);
        let mut archived = self.newest.clone();
        note_archive(&mut archived, offer, &is_whole);
        let has_archive = bridged && offer.certain;
        // If the current lists cannot be read, it is unknown that the archive closes a gap.
        let archive_counts =
            has_archive && offer.archived.iter().all(is_whole) && offer.changes.iter().all(is_whole);
        if archive_counts {
            self.newest.clone_from(&archived);
            note_archive(&mut whole, offer, &is_whole);
        }
        // If only some parts of an inventory can be read, the rest and all older changes wait for the next run. And a
        // dump without a time may be older than the list that was applied.
        let some_parts = |inventory: &Inventory| {
            let readable = inventory.parts.iter().filter(|part| is_whole(part)).count();
            readable < inventory.parts.len()
                && (readable > 0 || offer.inventories.len() > 1 && !offer.certain)
        };
        self.waits &= !offer.inventories.iter().any(|inventory| inventory.parts.iter().all(is_whole));
        self.waits |= offer.inventories.iter().any(some_parts);
        // Changes of resources that were left out are forgotten, and wait until all of their lists can be read again.
        // If nothing can be read, all stays, and so does what was kept although it is gone.
        let mut parts = offer.inventories.iter().flat_map(|inventory| &inventory.parts).chain(&offer.changes);
        let may_wait =
            self.waits || was_narrow && !offer.changes.iter().all(is_whole) || !parts.any(is_whole);
        // If the documents do not tell what came first, each of their claims may be right.
        let is_doubtful = !offer.certain && !broken.is_empty();

        let gap = !(continuous || archive_counts) || !offer.certain;
        for (resource, claim) in &self.newest {
            let mut expected = Expected::new(claim.version, may_wait);
            for other in
                [archived.get(resource), whole.get(resource), before.get(resource)].into_iter().flatten()
            {
                let differs = other.version != claim.version;
                if differs && (other.time > claim.time || (gap && !offer.certain)) {
                    expected.or.push(other.version);
                }
            }
            if is_doubtful {
                let parts = offer.changes.iter().chain(&offer.archived).filter(|part| is_whole(part));
                let claims = parts.flat_map(|part| &part.claims).filter(|one| one.resource == *resource);
                expected.doubted.extend(claims.map(|claim| claim.version));
            }
            let told = [Some(claim), archived.get(resource)].map(|one| one.map(|one| one.version));
            verdict.misses |= whole.get(resource).is_some_and(|whole| !told.contains(&Some(whole.version)));
            // An inventory is older than the known claim and differs from it, and no list has the change between them.
            let contradicted = offer.inventories.iter().any(|inventory| {
                let listed = inventory.parts.iter().flat_map(|part| &part.claims);
                let listed =
                    listed.filter(|one| one.resource == *resource).map(|one| one.version).next_back();
                inventory.at < claim.time && listed.unwrap_or(None) != claim.version
            });
            // A change that a selection or a limit left out is forgotten once no list has it: then only an inventory from before
            // it tells of its resource, and the run reports the gap.
            for inventory in
                offer.inventories.iter().filter(|_| was_narrow && claim.time <= offer.covered_from)
            {
                let listed = inventory.parts.iter().flat_map(|part| &part.claims);
                let listed = listed.filter(|one| one.resource == *resource && inventory.at < claim.time);
                expected.or.extend(listed.map(|one| one.version));
            }
            let relisted =
                offer.changes.iter().flat_map(|part| &part.claims).any(|one| one.time == claim.time);
            if gap && contradicted && !relisted {
                verdict.doubtful = true;
                if !offer.certain {
                    expected.or.push(None);
                }
            }
            verdict.resources.insert(*resource, expected);
        }
        if !offer.certain || has_archive {
            // The documents do not tell if the archive closes a gap, so its resources may be held or not.
            for (resource, claim) in
                archived.iter().filter(|(resource, _)| !self.newest.contains_key(resource))
            {
                verdict
                    .resources
                    .insert(*resource, Expected { or: vec![claim.version], ..Expected::new(None, may_wait) });
            }
        }
        // The deletion of a resource that was never known is not missed.
        let is_new =
            |(resource, claim): (&usize, &Claim)| claim.version.is_some() && !archived.contains_key(resource);
        verdict.misses |= whole.iter().any(is_new);
        self.stay_absent(offer);
        self.remember_perhaps(&mut verdict, may_wait);
        self.until = if broken.is_empty() { Some(published) } else { until };
        verdict
    }
}

fn note(newest: &mut BTreeMap<usize, Claim>, claims: &[Claim]) {
    for claim in claims {
        let held = newest.entry(claim.resource).or_insert(*claim);
        if held.time <= claim.time {
            *held = *claim;
        }
    }
}

/// Notes the claims of an offer, as far as they can be read.
fn note_offer(newest: &mut BTreeMap<usize, Claim>, offer: &Offer, is_whole: &dyn Fn(&Part) -> bool) {
    note_inventories(newest, offer, is_whole);
    offer.changes.iter().filter(|part| is_whole(part)).for_each(|part| note(newest, &part.claims));
    // Inventories are noted again: a resource that a change created may be absent at the time of an inventory.
    note_inventories(newest, offer, is_whole);
}

fn note_archive(newest: &mut BTreeMap<usize, Claim>, offer: &Offer, is_whole: &dyn Fn(&Part) -> bool) {
    offer.archived.iter().filter(|part| is_whole(part)).for_each(|part| note(newest, &part.claims));
    note_inventories(newest, offer, is_whole);
}

fn note_inventories(newest: &mut BTreeMap<usize, Claim>, offer: &Offer, is_whole: &dyn Fn(&Part) -> bool) {
    for inventory in &offer.inventories {
        let readable: Vec<_> = inventory.parts.iter().filter(|part| is_whole(part)).collect();
        note_inventory(newest, inventory.at, &readable, readable.len() == inventory.parts.len());
    }
}

/// Notes an inventory. If it is complete, a resource that it does not list is absent as of its time.
fn note_inventory(newest: &mut BTreeMap<usize, Claim>, at: i64, parts: &[&Part], complete: bool) {
    parts.iter().for_each(|part| note(newest, &part.claims));
    let listed: BTreeSet<_> =
        parts.iter().flat_map(|part| &part.claims).map(|claim| claim.resource).collect();
    let absent: Vec<_> = newest.keys().filter(|one| !listed.contains(one)).copied().collect();
    for resource in absent.into_iter().filter(|_| complete) {
        note(newest, &[Claim { resource, time: at, version: None }]);
    }
}
