//! Content against catalogue: observed changes.

mod added;
mod candidate;
mod check;
mod hasher;
mod listed;
mod merge;
mod pipeline;
mod said;
mod supplied;

use std::{path::PathBuf, thread};

use resourcesync::{Algorithm, DateTime};

use crate::{
    Error, Monitor, Phase, Problem, PublishOptions,
    catalogue::{Catalogue, Recorded},
    content::{Holdings, Skipped, Skips, Spool},
};
pub use check::{Difference, DifferenceKind, check};
use hasher::Hashing;
use merge::Merge;
use pipeline::Record;
pub use said::{Said, record_said};

/// How files are looked at.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScanOptions {
    /// The digests to compute.
    pub algorithms: Vec<Algorithm>,
    /// How many threads hash.
    pub threads: usize,
    /// Whether files that not everybody may read are published too.
    pub private_too: bool,
    /// The sets of the Source: their baseline is complete after a scan of everything.
    pub sets: u64,
    /// Where each new state of a resource is copied to; the baseline is not.
    pub spool: Option<Spool>,
}

impl ScanOptions {
    /// As the operator of a Source wants it, with a thread for each processor, eight at most.
    pub fn new(options: &PublishOptions) -> Self {
        Self {
            algorithms: options.hash.clone(),
            threads: thread::available_parallelism().map_or(1, |threads| threads.get().min(8)),
            private_too: false,
            sets: mask(options.sets.len()),
            spool: Spool::of(options),
        }
    }
}

/// What a scan came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScanReport {
    /// The Source's time before the first file was looked at.
    pub at: DateTime,
    /// The Source's time after the last file was hashed.
    pub completed: DateTime,
    /// Files looked at.
    pub seen: u64,
    /// Files read.
    pub hashed: u64,
    /// Bytes read.
    pub hashed_bytes: u64,
    /// Files that are passed over: private, links, devices, unreadable.
    pub skipped: u64,
    /// What was recorded.
    pub recorded: Recorded,
}

/// Looks at all content and records what changed: a file with the size, times and inode it had is not opened.
///
/// The first complete scan of a set records its resources without a line in the change log: they are its baseline.
/// A folder that cannot be read costs nothing that is known of it.
///
/// # Errors
/// When a root folder cannot be read or the catalogue fails; what was recorded until then stays, and the next scan
/// goes on from there.
pub fn scan(
    holdings: &Holdings,
    catalogue: &Catalogue,
    options: &ScanOptions,
    monitor: &dyn Monitor,
) -> Result<ScanReport, Error> {
    let _alone = holdings.look_alone();
    monitor.phase(Phase::Scan);
    let record = |batch| catalogue.record(batch);
    let report =
        observe(catalogue, options, monitor, false, &record, |merge| complete_look(merge, holdings))?;
    complete(catalogue, options)?;
    Ok(report)
}

/// Looks at some files and folders only, each with all that lies below it; the cost is that of these alone.
///
/// # Errors
/// As for [`scan`]. A path outside of every root is passed over.
pub fn scan_paths(
    holdings: &Holdings,
    catalogue: &Catalogue,
    paths: &[PathBuf],
    options: &ScanOptions,
    monitor: &dyn Monitor,
) -> Result<ScanReport, Error> {
    let _alone = holdings.look_alone();
    let record = |batch| catalogue.record(batch);
    observe(catalogue, options, monitor, false, &record, |merge| {
        for path in paths {
            for root in holdings.roots() {
                if let Some(path) = root.relative(path) {
                    merge.path(root, &path)?;
                }
            }
        }
        Ok(())
    })
}

/// Looks at all content, and before it at what is known of content that is not configured any more: where a URI has
/// moved from one to the other, it is deleted before it is created, not after.
fn complete_look<'a>(merge: &mut Merge<'a, '_>, holdings: &'a Holdings) -> Result<(), Error> {
    merge.forsaken(holdings.numbers())?;
    for root in holdings.roots() {
        merge.root(root)?;
        merge.pipeline.flush()?;
    }
    for manifest in holdings.manifests() {
        merge.manifest(manifest, holdings)?;
    }
    Ok(())
}

/// Runs `look` with threads that hash and one that records behind it; `every_file` is hashed, or those that moved.
fn observe<'a>(
    catalogue: &'a Catalogue,
    options: &'a ScanOptions,
    monitor: &'a dyn Monitor,
    every_file: bool,
    record: &Record<'_>,
    look: impl for<'p> FnOnce(&mut Merge<'a, 'p>) -> Result<(), Error>,
) -> Result<ScanReport, Error> {
    catalogue.settle()?;
    let at = catalogue.now();
    let hashing = hashing(catalogue, options)?;
    let ((seen, skips, kept), done) =
        pipeline::run(catalogue, &hashing, options.threads, monitor, record, |pipeline| {
            let rehash_all = every_file || !hashing.before.is_empty();
            let mut merge = Merge::new(catalogue, options, rehash_all, monitor, pipeline);
            merge.spool.clone_from(&hashing.spool);
            look(&mut merge)?;
            Ok((merge.seen, merge.skips, merge.kept))
        })?;
    tell(&skips, monitor);
    if let Some(spool) = hashing.spool.filter(|_| done.kept + kept > 0) {
        spool.trim().map_err(Error::write(spool.folder()))?;
    }
    Ok(ScanReport {
        at,
        completed: catalogue.now(),
        seen,
        hashed: done.hashed,
        hashed_bytes: done.hashed_bytes,
        skipped: skips.count() + done.unreadable,
        recorded: done.recorded,
    })
}

/// The name under which the catalogue keeps the algorithms of the last complete scan.
const ALGORITHMS: &str = "algorithms";

fn hashing(catalogue: &Catalogue, options: &ScanOptions) -> Result<Hashing, Error> {
    let kept = String::from_utf8(catalogue.meta(ALGORITHMS)?.unwrap_or_default()).unwrap_or_default();
    let before: Vec<Algorithm> = kept.split_ascii_whitespace().map(Algorithm::parse).collect();
    let published = options.algorithms.clone();
    let baselined = catalogue.head()?.baselined & options.sets == options.sets;
    Ok(Hashing {
        before: if before == published { Vec::new() } else { before },
        published,
        spool: options.spool.clone().filter(|_| baselined),
    })
}

/// Keeps what the next scan starts from, if it is news.
fn complete(catalogue: &Catalogue, options: &ScanOptions) -> Result<(), Error> {
    let names: Vec<&str> = options.algorithms.iter().map(Algorithm::as_str).collect();
    let names = names.join(" ").into_bytes();
    if catalogue.meta(ALGORITHMS)?.as_ref() != Some(&names) {
        catalogue.set_meta(vec![(ALGORITHMS.to_owned(), Some(names))])?;
    }
    if catalogue.head()?.baselined & options.sets != options.sets {
        catalogue.complete_baseline(options.sets)?;
    }
    Ok(())
}

/// What is passed over by rule is told once for each rule.
fn tell(skips: &Skips, monitor: &dyn Monitor) {
    let tell = |skipped: &Skipped, what: &str| {
        if skipped.count > 0 {
            let first = String::from_utf8_lossy(&skipped.first);
            monitor.problem(&Problem::warning(first, format!("{what}; {} in all", skipped.count)));
        }
    };
    tell(&skips.private, "is not readable by everybody, so it is not published");
    tell(&skips.links, "is a symbolic link, so it is not published");
    tell(&skips.special, "is no regular file, so it is not published");
}

fn mask(sets: usize) -> u64 {
    u32::try_from(sets).ok().and_then(|sets| 1u64.checked_shl(sets)).map_or(u64::MAX, |bit| bit - 1)
}
