//! The options of a scan, and its report.

use std::thread;

use resourcesync::{Algorithm, DateTime};

use super::{ScanStop, found::FoundResources};
use crate::{
    DeletionGuard, PublishOptions, Unreadable, catalogue::Recorded, content::StateSpool,
    monitor::LeftOutCounts,
};

/// Options of a scan.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct ScanOptions {
    /// The digests to compute.
    pub algorithms: Vec<Algorithm>,
    /// The number of threads that hash.
    pub threads: usize,
    /// `true` if each file is hashed, and not only those that changed.
    pub every_file: bool,
    /// `true` if files that not everybody may read are published too.
    pub private_too: bool,
    /// The sets of the Source: their baseline is complete after a scan of everything. A preview has names of further ones,
    /// which are not configured any more.
    pub sets: u64,
    /// The names of the sets, by their numbers.
    pub set_names: Vec<String>,
    /// The guard of deletions; `None` if each deletion is meant.
    pub guard: Option<DeletionGuard>,
    /// The treatment of files that not everybody may read.
    pub unreadable: Unreadable,
    /// The spool that each new state of a resource is copied to; the baseline is not.
    pub spool: Option<StateSpool>,
    /// The request to end before the scan is complete.
    pub(crate) stop: ScanStop,
    /// The resources that a preview finds, for its guard; `None` for a scan that records.
    pub(super) found: Option<FoundResources>,
}

impl ScanOptions {
    /// Returns the options of a Source, with a thread for each processor, eight at most.
    pub(crate) fn new(options: &PublishOptions) -> Self {
        Self {
            algorithms: options.hash.clone(),
            threads: thread::available_parallelism().map_or(1, |threads| threads.get().min(8)),
            every_file: false,
            private_too: false,
            set_names: options.sets.iter().map(|set| set.name.clone()).collect(),
            guard: Some(options.guard),
            unreadable: options.unreadable,
            sets: mask(options.sets.len()),
            spool: StateSpool::of(options),
            stop: ScanStop::default(),
            found: None,
        }
    }

    /// Hashes each file, and not only those that changed.
    #[must_use]
    pub(crate) fn of_every_file(self) -> Self {
        Self { every_file: true, ..self }
    }
}

/// The outcome of a scan.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScanReport {
    /// The Source's time before the first file was inspected.
    pub at: DateTime,
    /// The Source's time after the last file was hashed.
    pub completed: DateTime,
    /// Files inspected.
    pub seen: u64,
    /// Files read.
    pub hashed: u64,
    /// Bytes read.
    pub hashed_bytes: u64,
    /// Files that are passed over: private, links, devices, unreadable.
    pub skipped: u64,
    /// Files and folders that could not be read this time.
    pub unreadable: u64,
    /// The files left out because of their mode, their kind or their name; only the first of these count as skipped.
    pub left_out: LeftOutCounts,
    /// The changes that were recorded.
    pub recorded: Recorded,
}

fn mask(sets: usize) -> u64 {
    u32::try_from(sets).ok().and_then(|sets| 1u64.checked_shl(sets)).map_or(u64::MAX, |bit| bit - 1)
}
