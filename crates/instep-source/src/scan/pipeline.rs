//! The threads of a scan: one walks, some hash, one records; bounded channels between them.

use std::{
    mem,
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use super::{
    candidate::Candidate,
    hasher::{Done, FileHasher, HashPlan},
};
use crate::{
    Error, PublishMonitor, PublishProblem,
    catalogue::{Catalogue, CatalogueError, Observation, Recorded},
};

/// Observations in one transaction.
const GROUP: usize = 4_096;
/// Files handed to a hashing thread at once: fewer when they are large.
const FILES_AT_ONCE: usize = 128;
const BYTES_AT_ONCE: u64 = 1 << 20;

/// The fate of a batch of observations.
pub(super) type Record<'a> = dyn Fn(Vec<Observation>) -> Result<Recorded, CatalogueError> + Sync + 'a;

/// The fate of the key of a file that was found, and was gone when it should be hashed.
pub(super) type Vanished<'a> = dyn Fn(&[u8]) -> Result<(), Error> + Sync + 'a;

/// The queue for the results of the walking thread.
#[derive(Debug)]
pub(super) struct HashPipeline<'a> {
    files: SyncSender<Vec<Candidate<'a>>>,
    observations: SyncSender<Vec<Observation>>,
    candidates: Vec<Candidate<'a>>,
    candidate_bytes: u64,
    observed: Vec<Observation>,
}

impl<'a> HashPipeline<'a> {
    /// Queues a file to be hashed.
    pub(super) fn candidate(&mut self, candidate: Candidate<'a>) -> Result<(), Error> {
        self.candidate_bytes += candidate.stamp().length;
        self.candidates.push(candidate);
        if self.candidates.len() >= FILES_AT_ONCE || self.candidate_bytes >= BYTES_AT_ONCE {
            self.send_candidates()
        } else {
            Ok(())
        }
    }

    /// Queues an observation that needs no hashing.
    pub(super) fn observe(&mut self, observation: Observation) -> Result<(), Error> {
        self.observed.push(observation);
        if self.observed.len() >= FILES_AT_ONCE { self.send_observed() } else { Ok(()) }
    }

    /// Passes on the results so far: they are recorded with or before all that follow.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.send_candidates()?;
        self.send_observed()
    }

    fn send_candidates(&mut self) -> Result<(), Error> {
        self.candidate_bytes = 0;
        send(&self.files, &mut self.candidates)
    }

    fn send_observed(&mut self) -> Result<(), Error> {
        send(&self.observations, &mut self.observed)
    }
}

/// Sends a batch. If the receiver has ended, its own thread reports the reason, which replaces the error here.
fn send<T>(to: &SyncSender<Vec<T>>, batch: &mut Vec<T>) -> Result<(), Error> {
    if batch.is_empty() {
        return Ok(());
    }
    to.send(mem::take(batch)).map_err(|_| CatalogueError::Closed.into())
}

/// Runs `look` in front of the threads, and waits until all it found is hashed and recorded.
pub(super) fn run<'a, T>(
    catalogue: &Catalogue,
    hashing: &HashPlan,
    threads: usize,
    monitor: &dyn PublishMonitor,
    (record, vanished): (&Record<'_>, &Vanished<'_>),
    look: impl FnOnce(&mut HashPipeline<'a>) -> Result<T, Error>,
) -> Result<(T, Done), Error> {
    let (files, waiting_files) = sync_channel(2 * threads);
    let (observations, waiting_observations) = sync_channel(2 * threads);
    let waiting_files = &Mutex::new(waiting_files);
    thread::scope(|scope| {
        let longest = catalogue.longest_key();
        let recorder = scope.spawn(move || record_all(record, &waiting_observations, longest, monitor));
        let hashers: Vec<_> = (0..threads.max(1))
            .map(|_| {
                let observations = observations.clone();
                scope.spawn(move || {
                    let hasher = FileHasher::new(catalogue, hashing, monitor);
                    hash(hasher, waiting_files, &observations, vanished)
                })
            })
            .collect();
        let mut pipeline = HashPipeline {
            files,
            observations,
            candidates: Vec::new(),
            candidate_bytes: 0,
            observed: Vec::new(),
        };
        let looked = look(&mut pipeline);
        let sent = pipeline.flush();
        drop(pipeline);
        let mut done = Done::default();
        for hasher in hashers {
            let part = hasher.join().map_err(|_| CatalogueError::Closed)??;
            done.hashed += part.hashed;
            done.hashed_bytes += part.hashed_bytes;
            done.unreadable += part.unreadable;
            done.kept += part.kept;
        }
        let (recorded, too_long) = recorder.join().map_err(|_| CatalogueError::Closed)??;
        done.recorded = recorded;
        done.faults = done.unreadable;
        done.unreadable += too_long;
        sent?;
        Ok((looked?, done))
    })
}

fn hash<'a>(
    mut hasher: FileHasher<'_>,
    waiting: &Mutex<Receiver<Vec<Candidate<'a>>>>,
    observations: &SyncSender<Vec<Observation>>,
    vanished: &Vanished<'_>,
) -> Result<Done, Error> {
    let (mut recorded, mut kept) = (true, Ok(()));
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(files) = next else { return kept.map(|()| hasher.done) };
        // Files are still received after recording has stopped, so that no sender blocks.
        recorded = recorded && kept.is_ok() && {
            let mut observed: Vec<_> = files.into_iter().filter_map(|file| hasher.observe(file)).collect();
            for gone in observed.extract_if(.., |it| matches!(it, Observation::Gone { .. })) {
                kept = kept.and_then(|()| vanished(gone.key()));
            }
            observations.send(observed).is_ok()
        };
    }
}

/// Records what was observed. Returns the number of resources whose names are too long for the catalogue, too.
fn record_all(
    record: &Record<'_>,
    waiting: &Receiver<Vec<Observation>>,
    longest: Option<usize>,
    monitor: &dyn PublishMonitor,
) -> Result<(Recorded, u64), CatalogueError> {
    let mut recorded = Recorded::default();
    let (mut parts, mut many, mut too_long) = (Vec::new(), 0, 0);
    loop {
        let next = waiting.recv();
        let last = next.is_err();
        let mut next = next.unwrap_or_default();
        if let Some(most) = longest {
            next.retain(|it| {
                is_short(it, most, monitor) || {
                    too_long += 1;
                    false
                }
            });
        }
        many += next.len();
        parts.push(next);
        if many >= GROUP || (last && many > 0) {
            recorded.add(&record(in_order(mem::take(&mut parts)))?);
            many = 0;
        }
        if last {
            return Ok((recorded, too_long));
        }
    }
}

/// Puts observations in the order of the table, so that equal changes give equal logs; deletions first, because their URIs
/// may be those of new resources.
fn in_order(mut parts: Vec<Vec<Observation>>) -> Vec<Observation> {
    // Each part is a stretch of the walk. Put one behind the other they are usually in order, and sorting such a list
    // compares and moves each observation once.
    parts.sort_by(|one, other| one.first().map(Observation::key).cmp(&other.first().map(Observation::key)));
    let mut batch = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.into_iter().for_each(|mut part| batch.append(&mut part));
    let is_there = |it: &Observation| !matches!(it, Observation::Gone { .. } | Observation::Moved { .. });
    batch.sort_unstable_by(|one, other| {
        is_there(one).cmp(&is_there(other)).then_with(|| one.key().cmp(other.key()))
    });
    batch
}

/// Returns `true` if the catalogue can keep the name of a resource; reports one that it cannot.
fn is_short(observation: &Observation, most: usize, monitor: &dyn PublishMonitor) -> bool {
    let Some(found) = observation.found().filter(|found| found.key.len() > most) else { return true };
    let what = format!(
        "is not published: its path or URI has {} bytes, and a catalogue in PostgreSQL can keep {most}",
        found.key.len()
    );
    monitor.problem(&PublishProblem::skipped(found.uri.as_str(), what));
    false
}

#[cfg(test)]
mod tests {
    use resourcesync::{Algorithm, Uri};

    use super::{CatalogueError, run};
    use crate::{
        NoMonitor,
        catalogue::{Catalogue, FileStamp, Resource},
        scan::{ScanStop, candidate::Candidate, hasher::HashPlan},
    };

    #[test]
    fn a_scan_whose_records_fail_ends_with_that_failure() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::open(&folder.path().join("catalogue.db")).unwrap();
        let hashing = HashPlan {
            published: vec![Algorithm::Sha256],
            before: Vec::new(),
            spool: None,
            stop: ScanStop::default(),
        };
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let failing = |_| Err(CatalogueError::Damaged { what: "test", uri: String::new() });
        let outcome = run(&catalogue, &hashing, 2, &NoMonitor, (&failing, &|_| Ok(())), |pipeline| {
            for number in 0..50_000 {
                let uri = Uri::parse(&format!("urn:{number}")).unwrap();
                let resource = Box::new(Resource::new(number.to_string().into_bytes(), uri));
                let file = file.clone();
                pipeline.candidate(Candidate::Listed { resource, file, stamp: FileStamp::default() })?;
            }
            Ok(())
        });
        assert!(outcome.unwrap_err().to_string().contains("catalogue"));
    }
}
