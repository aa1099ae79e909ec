//! Deletions found by a scan. They are recorded last, and only if the guard allows all of them, because an unmounted
//! disk looks like the deletion of everything.

use std::{
    io::{self, BufReader, Read, Seek, Write},
    time::Instant,
};

use tempfile::SpooledTempFile;

use super::{
    found::{SETS, count},
    options::ScanOptions,
    other_places::{OtherPlaces, waits_for_file},
    pipeline::Record,
    recent_changes::{Unpublished, still_deleted, unpublished_changes},
};
use crate::{
    DeletionGuard, Error,
    catalogue::{Catalogue, Observation, Recorded, Snapshot},
    content::Holdings,
};

/// Bytes of keys that are held in memory; more go to a temporary file.
const IN_MEMORY: usize = 1 << 20;
/// Deletions in one transaction.
const GROUP: usize = 4_096;

/// The keys of resources that are gone, and their number in each set.
#[derive(Debug)]
pub(super) struct WithheldDeletions {
    keys: SpooledTempFile,
    count: u64,
    by_set: Vec<u64>,
    /// `true` if some of them are of a folder or manifest that is not configured any more.
    pub(super) are_forsaken: bool,
}

/// Resources by set, as the guard counts them.
struct Losses {
    /// Resources that are gone.
    gone: Vec<u64>,
    /// Those among them whose folder or manifest is not configured any more.
    forsaken: Vec<u64>,
    /// Resources that are gone before any document has named them.
    unpublished: Vec<u64>,
    /// Resources that documents have named.
    published: Vec<u64>,
    /// Resources that were deleted within the last hour.
    before: Vec<u64>,
    /// New resources that are not recorded, as in a preview.
    found: Vec<u64>,
}

impl WithheldDeletions {
    pub(super) fn new() -> Self {
        let keys = SpooledTempFile::new(IN_MEMORY);
        Self { keys, count: 0, by_set: vec![0; SETS], are_forsaken: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Withholds the deletion of a resource of some sets.
    pub(super) fn add(&mut self, key: &[u8], sets: u64) -> io::Result<()> {
        let length = u32::try_from(key.len()).map_err(io::Error::other)?;
        self.keys.write_all(&length.to_le_bytes())?;
        self.keys.write_all(key)?;
        self.count += 1;
        count(&mut self.by_set, sets);
        Ok(())
    }

    /// Withholds the deletions of another one too.
    pub(super) fn append(&mut self, mut others: Self) -> Result<(), Error> {
        let copied = others.keys.rewind().and_then(|()| io::copy(&mut others.keys, &mut self.keys));
        copied.map_err(Error::write("temporary file"))?;
        self.count += others.count;
        self.by_set.iter_mut().zip(others.by_set).for_each(|(count, more)| *count += more);
        Ok(())
    }

    /// Checks the deletions against the guard. All other results of the scan are already recorded, so that a resource
    /// counts as existing if it was found in another place.
    pub(super) fn check(
        &mut self,
        catalogue: &Catalogue,
        holdings: &Holdings,
        options: &ScanOptions,
    ) -> Result<(), Error> {
        let Some(guard) = options.guard.filter(|_| self.count > 0) else { return Ok(()) };
        let snapshot = catalogue.snapshot()?;
        let mut losses = self.largest(&snapshot, holdings, options)?;
        if self.are_forsaken || refusal(&losses, guard, &snapshot, options)?.is_some() {
            // Counting these costs a look-up for each, so it is done only when it matters.
            losses = self.counted(&snapshot, holdings, options)?;
            if let Some(refusal) = refusal(&losses, guard, &snapshot, options)? {
                return Err(refusal);
            }
        }
        holdings.recent_deletions().add(&losses.gone, snapshot.head().sequence, Instant::now());
        Ok(())
    }

    /// Returns the losses as if each deletion counted, and each recorded change that no document shows were a new
    /// resource.
    fn largest(
        &self,
        snapshot: &Snapshot,
        holdings: &Holdings,
        options: &ScanOptions,
    ) -> Result<Losses, Error> {
        let none = vec![0; SETS];
        let before = recently_deleted(holdings);
        let new = unpublished_changes(snapshot)?;
        let mut published = none.clone();
        for (set, published) in (0u8..).zip(&mut published[..options.set_names.len()]) {
            *published = snapshot.totals(set)?.resources.saturating_sub(new);
        }
        let found = options.found.as_ref().map_or_else(|| none.clone(), |found| found.counts().new);
        let gone = self.by_set.clone();
        Ok(Losses { gone, forsaken: none.clone(), unpublished: none, published, before, found })
    }

    /// Counts the resources of each set that are gone for readers: without those that have only moved to another place,
    /// and without those that no document has named, as after a run with a wrong prefix that was refused (C19).
    fn counted(
        &mut self,
        snapshot: &Snapshot,
        holdings: &Holdings,
        options: &ScanOptions,
    ) -> Result<Losses, Error> {
        let never = Unpublished::of(snapshot, &options.set_names)?;
        let mut losses = self.largest(snapshot, holdings, options)?;
        losses.gone = vec![0; SETS];
        let (named, configured) = ([0, u8::MAX], holdings.numbers());
        let mut places = OtherPlaces::new(snapshot, holdings);
        self.each(&mut |key| {
            if let Some(held) = snapshot.resource(&key)? {
                let elsewhere = places.sets_of(&held)?;
                // A preview has not recorded the line or file either, and counts it among the resources that it found.
                if options.found.is_none() && waits_for_file(&held, elsewhere, holdings, options) {
                    return Ok(());
                }
                let left = held.sets & !elsewhere.unwrap_or_default();
                let unpublished = never.sets_of(held.uri.as_str());
                count(&mut losses.unpublished, left & unpublished);
                count(&mut losses.gone, left & !unpublished);
                if !named.contains(&key[0]) && !configured.contains(&key[0]) {
                    count(&mut losses.forsaken, left & !unpublished);
                }
            }
            Ok(())
        })?;
        if let Some(found) = &options.found {
            for (set, moved) in found.counts().moved.into_iter().enumerate() {
                losses.gone[set] = losses.gone[set].saturating_sub(moved);
                losses.forsaken[set] = losses.forsaken[set].saturating_sub(moved);
            }
        }
        for (set, published) in (0u8..).zip(&mut losses.published[..options.set_names.len()]) {
            *published = never.published(set, snapshot.totals(set)?.resources);
        }
        if let Some(after) = holdings.recent_deletions().begin(Instant::now())
            && let Some(still) = still_deleted(snapshot, after)?
        {
            losses.before.iter_mut().zip(still).for_each(|(before, still)| *before = still.min(*before));
        }
        Ok(losses)
    }

    /// Records the deletions.
    pub(super) fn record(
        mut self,
        catalogue: &Catalogue,
        holdings: &Holdings,
        options: &ScanOptions,
        record: &Record<'_>,
    ) -> Result<Recorded, Error> {
        let mut recorded = Recorded::default();
        if self.count == 0 {
            return Ok(recorded);
        }
        let snapshot = catalogue.snapshot()?;
        let (mut places, mut batch) = (OtherPlaces::new(&snapshot, holdings), Vec::new());
        self.each(&mut |key| {
            let held = snapshot.resource(&key)?;
            let elsewhere = match &held {
                Some(held) => places.sets_of(held)?,
                None => None,
            };
            if held.is_some_and(|held| waits_for_file(&held, elsewhere, holdings, options)) {
                return Ok(());
            }
            batch.push(match elsewhere.unwrap_or_default() {
                0 => Observation::Gone { key },
                stays_in => Observation::Moved { key, stays_in },
            });
            if batch.len() == GROUP {
                recorded.add(&record(std::mem::take(&mut batch))?);
            }
            Ok(())
        })?;
        if !batch.is_empty() {
            recorded.add(&record(batch)?);
        }
        Ok(recorded)
    }

    /// Passes each key to `take`, in the order in which they came.
    fn each(&mut self, take: &mut dyn FnMut(Vec<u8>) -> Result<(), Error>) -> Result<(), Error> {
        let failed = || Error::read("temporary file");
        self.keys.rewind().map_err(failed())?;
        let mut keys = BufReader::new(&mut self.keys);
        for _ in 0..self.count {
            take(read_key(&mut keys).map_err(failed())?)?;
        }
        Ok(())
    }
}

/// Returns the error for the first set that loses too much.
fn refusal(
    losses: &Losses,
    guard: DeletionGuard,
    snapshot: &Snapshot,
    options: &ScanOptions,
) -> Result<Option<Error>, Error> {
    for (set, name) in (0u8..).zip(&options.set_names) {
        let index = usize::from(set);
        let (now, before) = (losses.gone[index], losses.before[index]);
        if now == 0 || options.sets >> set & 1 == 0 {
            continue;
        }
        if losses.forsaken[index] >= losses.published[index] && !guard.allow_empty {
            return Ok(Some(Error::SetMoved { set: name.clone(), resources: now }));
        }
        let present = snapshot.totals(set)?.resources + losses.found[index];
        let present = present.saturating_sub(losses.unpublished[index]);
        // A share is one of the resources that readers know: a renamed folder is not half of the set with its new names.
        let resources = present.min(losses.published[index]).max(now);
        let (deletions, limit) = (now + before, guard.most.limit(resources.saturating_add(before)));
        let empty = now >= present && !guard.allow_empty;
        if empty || deletions > limit {
            let set = name.clone();
            return Ok(Some(Error::DeletionsRefused { set, deletions, resources, limit, empty }));
        }
    }
    Ok(None)
}

fn recently_deleted(holdings: &Holdings) -> Vec<u64> {
    let recent = holdings.recent_deletions();
    (0..SETS).map(|set| recent.of_set(set, Instant::now())).collect()
}

fn read_key(keys: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    keys.read_exact(&mut length)?;
    let mut key = vec![0; u32::from_le_bytes(length) as usize];
    keys.read_exact(&mut key)?;
    Ok(key)
}
