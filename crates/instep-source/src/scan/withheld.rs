//! Deletions found by a scan. They are recorded last, and only if the guard allows all of them, because an unmounted
//! disk looks like the deletion of everything.

use std::{
    io::{self, BufReader, Read, Seek, Write},
    time::Instant,
};

use tempfile::SpooledTempFile;

use super::{options::ScanOptions, pipeline::Record};
use crate::{
    DeletionGuard, Error,
    catalogue::{Catalogue, Observation, Recorded, Resource, Snapshot},
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
}

impl WithheldDeletions {
    pub(super) fn new() -> Self {
        Self { keys: SpooledTempFile::new(IN_MEMORY), count: 0, by_set: vec![0; 64] }
    }

    /// Withholds the deletion of a resource of some sets.
    pub(super) fn add(&mut self, key: &[u8], sets: u64) -> io::Result<()> {
        let length = u32::try_from(key.len()).map_err(io::Error::other)?;
        self.keys.write_all(&length.to_le_bytes())?;
        self.keys.write_all(key)?;
        self.count += 1;
        for (number, count) in self.by_set.iter_mut().enumerate() {
            *count += sets >> number & 1;
        }
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
        if self.refusal(guard, &snapshot, holdings, options)?.is_some() {
            // Counting these costs a look-up for each, so it is done only when it matters.
            self.by_set = self.count_gone(&snapshot, holdings)?;
            if let Some(refusal) = self.refusal(guard, &snapshot, holdings, options)? {
                return Err(refusal);
            }
        }
        holdings.recent_deletions().add(&self.by_set, Instant::now());
        Ok(())
    }

    fn refusal(
        &self,
        guard: DeletionGuard,
        snapshot: &Snapshot,
        holdings: &Holdings,
        options: &ScanOptions,
    ) -> Result<Option<Error>, Error> {
        for (set, name) in (0u8..).zip(&options.set_names) {
            let now = self.by_set[usize::from(set)];
            if now == 0 {
                continue;
            }
            let resources = snapshot.totals(set)?.resources;
            let before = holdings.recent_deletions().of_set(usize::from(set), Instant::now());
            let (deletions, limit) = (now + before, guard.most.limit(resources.saturating_add(before)));
            let empty = now >= resources && !guard.allow_empty;
            if empty || deletions > limit {
                let set = name.clone();
                return Ok(Some(Error::DeletionsRefused { set, deletions, resources, limit, empty }));
            }
        }
        Ok(None)
    }

    /// Counts the deleted resources of each set, without those that have only moved to another place.
    fn count_gone(&mut self, snapshot: &Snapshot, holdings: &Holdings) -> Result<Vec<u64>, Error> {
        let mut by_set = vec![0; 64];
        self.each(&mut |key| {
            if let Some(held) = snapshot.resource(&key)?
                && !has_moved(&held, snapshot, holdings)?
            {
                for (number, count) in by_set.iter_mut().enumerate() {
                    *count += held.sets >> number & 1;
                }
            }
            Ok(())
        })?;
        Ok(by_set)
    }

    /// Records the deletions.
    pub(super) fn record(
        mut self,
        catalogue: &Catalogue,
        holdings: &Holdings,
        record: &Record<'_>,
    ) -> Result<Recorded, Error> {
        let mut recorded = Recorded::default();
        if self.count == 0 {
            return Ok(recorded);
        }
        let snapshot = catalogue.snapshot()?;
        let mut batch = Vec::new();
        self.each(&mut |key| {
            let held = snapshot.resource(&key)?;
            let moved = held.map_or(Ok(false), |held| has_moved(&held, &snapshot, holdings))?;
            batch.push(if moved { Observation::Moved { key } } else { Observation::Gone { key } });
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

/// Returns `true` if the URI of a resource that is gone is now that of another one: to readers it never went.
fn has_moved(held: &Resource, snapshot: &Snapshot, holdings: &Holdings) -> Result<bool, Error> {
    for key in holdings.keys_of(held.uri.as_str()).filter(|key| *key != held.key) {
        let other = snapshot.resource(&key)?;
        if other.is_some_and(|other| other.uri == held.uri && other.sets & held.sets == held.sets) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn read_key(keys: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    keys.read_exact(&mut length)?;
    let mut key = vec![0; u32::from_le_bytes(length) as usize];
    keys.read_exact(&mut key)?;
    Ok(key)
}
