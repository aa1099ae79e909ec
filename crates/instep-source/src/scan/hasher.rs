//! One file: its digests, and the proof that it did not change while they were computed.

use std::io::{self, Read};

use instep_store::next_bytes;
use resourcesync::{Algorithm, Digest, Digests, Hasher};

use super::{
    ScanStop,
    candidate::Candidate,
    tick::{now_ns, standing, stands},
};
use crate::{
    PublishMonitor, PublishProblem,
    catalogue::{Catalogue, FileStamp, Observation, Recorded},
    content::{MediaTypes, StateSpool, stamp},
};

/// Attempts to hash a file that is being written.
const ATTEMPTS: usize = 5;
/// If times are coarse, a change so shortly before hashing may hide a later one with equal times.
const RACY_NS: i64 = 2_000_000_000;
/// Times that are multiples of this come from a file system that keeps no finer ones: FAT, HFS+, old NFS servers.
const COARSE_NS: i64 = 10_000_000;
const BUFFER: usize = 256 * 1024;
/// Bytes of a file after which the hasher checks if the file is unchanged and the scan still needed. A file that is
/// appended to all the time must not delay the others: it is left for later after this many bytes, not at its end.
const LOOK_EVERY: u64 = 32 << 20;

/// The digests to compute.
#[derive(Clone, Debug)]
pub(super) struct HashPlan {
    /// Those to publish.
    pub(super) published: Vec<Algorithm>,
    /// Those published before, if the operator has since selected others: only they show if a file changed.
    pub(super) before: Vec<Algorithm>,
    /// The spool that new states are copied to.
    pub(super) spool: Option<StateSpool>,
    /// The request to end: files that are not hashed yet are left to the next scan.
    pub(super) stop: ScanStop,
}

/// Totals of the threads that hash and record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub(super) hashed: u64,
    pub(super) hashed_bytes: u64,
    pub(super) unreadable: u64,
    /// Those of them that the next scan may read: not those whose URI is too long.
    pub(super) faults: u64,
    pub(super) kept: u64,
    pub(super) recorded: Recorded,
}

/// Hashes files, one after the other.
pub(super) struct FileHasher<'a> {
    catalogue: &'a Catalogue,
    hashing: &'a HashPlan,
    algorithms: Vec<Algorithm>,
    monitor: &'a dyn PublishMonitor,
    media_types: MediaTypes,
    buffer: Vec<u8>,
    pub(super) done: Done,
}

struct HashedFile {
    digests: Digests,
    stamp: FileStamp,
    rehash: bool,
}

impl<'a> FileHasher<'a> {
    pub(super) fn new(
        catalogue: &'a Catalogue,
        hashing: &'a HashPlan,
        monitor: &'a dyn PublishMonitor,
    ) -> Self {
        let mut algorithms = hashing.published.clone();
        algorithms.extend(hashing.before.iter().filter(|it| !hashing.published.contains(it)).cloned());
        let (media_types, buffer) = (MediaTypes::default(), vec![0; BUFFER]);
        Self { catalogue, hashing, algorithms, monitor, media_types, buffer, done: Done::default() }
    }

    /// Returns the observation of a file; `None` if it cannot be read now.
    pub(super) fn observe(&mut self, file: Candidate<'_>) -> Option<Observation> {
        match self.hash(&file, None).and_then(|hashed| self.keep(&file, hashed)) {
            Ok(Some(hashed)) => Some(self.found(file, hashed)),
            Ok(None) if self.hashing.stop.is_requested() => None,
            Ok(None) => self.unreadable(&file, "changes all the time while it is read"),
            // A manifest that names the file says that there is such a resource.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !file.is_listed() => {
                Some(Observation::Gone { key: file.key() })
            }
            Err(error) => self.unreadable(&file, &format!("cannot be read: {error}")),
        }
    }

    fn unreadable(&mut self, file: &Candidate<'_>, what: &str) -> Option<Observation> {
        self.done.unreadable += 1;
        let path = file.path().display().to_string();
        self.monitor.problem(&PublishProblem::skipped(path, format!("{what}; its published entry stays")));
        None
    }

    fn found(&mut self, file: Candidate<'_>, hashed: HashedFile) -> Observation {
        let digests = self.published(&hashed.digests);
        let resource = file.resource(digests, hashed.stamp, hashed.rehash, &mut self.media_types);
        if self.hashing.before.is_empty() {
            Observation::Found(resource)
        } else {
            Observation::Rehashed { resource, also: hashed.digests }
        }
    }

    fn published(&self, digests: &Digests) -> Digests {
        let published = |digest: &&Digest| self.hashing.published.contains(&digest.algorithm);
        digests.iter().filter(published).cloned().collect()
    }

    /// Copies a new state to the spool, if there is one, because known bytes need no second reading.
    fn keep(&mut self, file: &Candidate<'_>, hashed: Option<HashedFile>) -> io::Result<Option<HashedFile>> {
        let (Some(spool), Some(seen)) = (&self.hashing.spool, &hashed) else { return Ok(hashed) };
        if !spool.takes(seen.stamp.length) {
            return Ok(hashed);
        }
        let held = self.catalogue.resource(&file.key()).map_err(io::Error::other)?;
        if held.is_some_and(|held| held.state.digests.agrees_with(&seen.digests) == Some(true)) {
            return Ok(hashed);
        }
        self.hash(file, Some(spool)).or_else(|error| {
            let what = format!("is published, but its new state cannot be kept: {error}");
            self.monitor.problem(&PublishProblem::warning(file.path().display().to_string(), what));
            Ok(hashed)
        })
    }

    /// Hashes a file until it has the same stamp before and after; `None` if it keeps changing (S4).
    fn hash(&mut self, file: &Candidate<'_>, spool: Option<&StateSpool>) -> io::Result<Option<HashedFile>> {
        for attempt in 0..ATTEMPTS {
            if self.hashing.stop.is_requested() {
                break;
            }
            let mut open = file.open()?;
            // The stamp with which it was found serves if no write since then can have left it as it is.
            let before = match Some(file.stamp()).filter(|stamp| attempt == 0 && stands(*stamp)) {
                Some(found) => found,
                None => standing(&open)?,
            };
            let now = now_ns();
            let mut hasher = Hasher::new(&self.algorithms);
            let mut draft = spool.map(StateSpool::draft).transpose()?;
            let (mut length, mut after) = (0, before);
            while length < before.length && after == before && !self.hashing.stop.is_requested() {
                let part = LOOK_EVERY.min(before.length - length);
                let read = read(&mut open, part, &mut self.buffer, |bytes| {
                    hasher.update(bytes);
                    draft.as_mut().map_or(Ok(()), |draft| draft.write(bytes))
                })?;
                length += read;
                after = stamp(&rustix::fs::fstat(&open)?);
                if read < part {
                    break;
                }
            }
            if before.length == 0 {
                after = stamp(&rustix::fs::fstat(&open)?);
            }
            self.done.hashed_bytes += length;
            if before == after && length == after.length {
                self.done.hashed += 1;
                let rehash = may_hide_a_write(after, now);
                let digests = hasher.finish();
                if let Some(draft) = draft {
                    draft.keep(&self.published(&digests))?;
                    self.done.kept += 1;
                }
                return Ok(Some(HashedFile { digests, stamp: after, rehash }));
            }
        }
        Ok(None)
    }
}

/// Returns `true` if a write after the hashing could leave this stamp unchanged. If times are fine, [`standing`] has
/// waited until no write can. The time of the inode shows this, because only the file system sets it.
fn may_hide_a_write(stamp: FileStamp, hashed_ns: i64) -> bool {
    let is_coarse = stamp.ctime_ns % COARSE_NS == 0;
    is_coarse && stamp.mtime_ns.max(stamp.ctime_ns) > hashed_ns - RACY_NS
}

/// Reads the stated number of bytes: one call for most files.
fn read(
    file: &mut impl Read,
    expected: u64,
    buffer: &mut [u8],
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<u64> {
    let mut length = 0;
    while length < expected {
        let wanted = buffer.len().min(usize::try_from(expected - length).unwrap_or(usize::MAX));
        let Some(part) = next_bytes(file, &mut buffer[..wanted])? else { break };
        take(part)?;
        length += part.len() as u64;
    }
    Ok(length)
}

#[cfg(test)]
mod tests;
