//! The change log as the guard of deletions reads it: what no document has named yet cannot be missed by readers, and
//! what was deleted and is back is not gone.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
};

use resourcesync::Change;

use crate::{
    Error,
    catalogue::{ChangeRecord, Snapshot},
    records::{PLACING, PUBLISHED, PublishedSource},
};

/// Resources, as digests of their URIs, and the sets of each. Two that share a digest by chance count as one, which
/// costs the guard nothing; millions of changes take some bytes each.
#[derive(Default)]
struct SetsByUri {
    digests: RandomState,
    sets: BTreeMap<u64, u64>,
}

impl SetsByUri {
    fn of(&self, uri: &str) -> u64 {
        self.sets.get(&self.digests.hash_one(uri)).copied().unwrap_or(0)
    }

    fn add(&mut self, uri: &str, sets: u64) {
        *self.sets.entry(self.digests.hash_one(uri)).or_default() |= sets;
    }

    fn remove(&mut self, uri: &str, sets: u64) {
        if let Some(of) = self.sets.get_mut(&self.digests.hash_one(uri)) {
            *of &= !sets;
        }
    }

    fn count(&self, set: u8) -> u64 {
        self.sets.values().map(|sets| sets >> set & 1).sum()
    }
}

/// Resources that were recorded, by a publication that was refused or interrupted, and that no document has named yet.
pub(super) struct Unpublished {
    created: SetsByUri,
    /// The sets of which nothing is published.
    sets: u64,
}

impl Unpublished {
    pub(super) fn of(snapshot: &Snapshot, set_names: &[String]) -> Result<Self, Error> {
        let mut published: PublishedSource = PUBLISHED.read(snapshot)?.unwrap_or_default();
        let mut through = published.through();
        if let Some(placing) = PLACING.read(snapshot)? {
            through = through.max(placing.through());
            published.sets.extend(placing.sets);
        }
        let is_unpublished = |(_, name): &(u32, &String)| !published.sets.contains_key(*name);
        let sets = (0..).zip(set_names).filter(is_unpublished).fold(0, |sets, (set, _)| sets | 1 << set);
        let (mut created, mut known) = (SetsByUri::default(), SetsByUri::default());
        for change in snapshot.changes(u64::MAX, through) {
            let ChangeRecord { change, uri, sets, .. } = change?;
            let uri = uri.as_str();
            match change {
                Change::Created => created.add(uri, sets & !known.of(uri)),
                _ => known.add(uri, sets & !created.of(uri)),
            }
            if change == Change::Deleted {
                created.remove(uri, sets);
            }
        }
        Ok(Self { created, sets })
    }

    /// Returns the sets in which no document has named a resource.
    pub(super) fn sets_of(&self, uri: &str) -> u64 {
        self.created.of(uri) | self.sets
    }

    /// Returns the number of resources of a set, of this many in all, that documents have named.
    pub(super) fn published(&self, set: u8, resources: u64) -> u64 {
        match self.sets >> set & 1 {
            0 => resources.saturating_sub(self.created.count(set)),
            _ => 0,
        }
    }
}

/// Returns the number of recorded changes that no document shows: no more resources than these are new.
pub(super) fn unpublished_changes(snapshot: &Snapshot) -> Result<u64, Error> {
    let published = PUBLISHED.read(snapshot)?.map_or(0, |published: PublishedSource| published.through());
    let placing = PLACING.read(snapshot)?.map_or(0, |placing: PublishedSource| placing.through());
    Ok(snapshot.head().sequence.saturating_sub(published.max(placing)))
}

/// Counts, for each set, the resources that were deleted after a change and have not come back; `None` if the log does
/// not reach back so far.
pub(super) fn still_deleted(snapshot: &Snapshot, after: u64) -> Result<Option<Vec<u64>>, Error> {
    if snapshot.head().forgotten > after {
        return Ok(None);
    }
    let mut deleted = SetsByUri::default();
    for change in snapshot.changes(u64::MAX, after) {
        let ChangeRecord { change, uri, sets, .. } = change?;
        match change {
            Change::Deleted => deleted.add(uri.as_str(), sets),
            _ => deleted.remove(uri.as_str(), sets),
        }
    }
    Ok(Some((0..64).map(|set| deleted.count(set)).collect()))
}
