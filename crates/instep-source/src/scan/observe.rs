//! One scan of the content: a thread that walks, threads that hash and one that records.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use super::{
    algorithms,
    merge::Merge,
    options::{ScanOptions, ScanReport},
    pipeline::{self, Record},
    withheld::WithheldDeletions,
};
use crate::{
    Error, PublishMonitor, PublishProblem, Unreadable,
    catalogue::Catalogue,
    content::{Holdings, Skipped, Skips},
};

/// Scans all content, and first the records of content that is no longer configured: if a URI has moved from one to
/// the other, it is deleted before it is created, not after.
pub(super) fn complete_look<'a>(merge: &mut Merge<'a, '_>, holdings: &'a Holdings) -> Result<(), Error> {
    merge.forsaken(holdings.numbers())?;
    for root in holdings.roots() {
        merge.leave_to_root(root, holdings)?;
        merge.root(root)?;
        merge.pipeline.flush()?;
    }
    for manifest in holdings.manifests() {
        merge.manifest(manifest, holdings)?;
    }
    Ok(())
}

/// Runs `look` with threads that hash and one that records.
pub(super) fn observe<'a>(
    holdings: &'a Holdings,
    catalogue: &'a Catalogue,
    options: &'a ScanOptions,
    monitor: &'a dyn PublishMonitor,
    record: &Record<'_>,
    look: impl for<'p> FnOnce(&mut Merge<'a, 'p>) -> Result<(), Error>,
) -> Result<ScanReport, Error> {
    catalogue.settle()?;
    holdings.refresh(monitor)?;
    let at = catalogue.now();
    let hashing = algorithms::hashing(catalogue, options)?;
    let vanished = Mutex::new(WithheldDeletions::new());
    // A disk that is unmounted during the scan looks like this, so these deletions wait for the guard too.
    let withhold = |key: &[u8]| match catalogue.resource(key)? {
        Some(held) => {
            let mut vanished = vanished.lock().unwrap_or_else(PoisonError::into_inner);
            vanished.add(key, held.sets).map_err(Error::write("temporary file"))
        }
        None => Ok(()),
    };
    let ((seen, skips, kept, mut withheld), mut done) =
        pipeline::run(catalogue, &hashing, options.threads, monitor, (record, &withhold), |pipeline| {
            let rehash_all = options.every_file || !hashing.before.is_empty();
            let mut merge = Merge::new(catalogue, options, rehash_all, monitor, pipeline);
            merge.spool.clone_from(&hashing.spool);
            look(&mut merge)?;
            Ok((merge.seen, merge.skips, merge.kept, merge.withheld))
        })?;
    if options.stop.is_requested() {
        return Err(Error::Stopped);
    }
    report_skips(&skips, monitor);
    refuse_unreadable(&skips, done.unreadable, options)?;
    withheld.append(vanished.into_inner().unwrap_or_else(PoisonError::into_inner))?;
    let refused = refusal_of_preview(&mut withheld, catalogue, holdings, options)?;
    done.recorded.add(&withheld.record(catalogue, holdings, options, record)?);
    if let Some(refused) = refused {
        return Err(refused);
    }
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
        unreadable: skips.unreadable + done.faults,
        left_out: (&skips).into(),
        recorded: done.recorded,
    })
}

/// Checks withheld deletions. Returns the refusal of a preview, which shows them all the same, so that the operator can judge
/// them; `None` if they are not refused.
///
/// # Errors
/// If the deletions of a publication are refused, or the catalogue fails.
fn refusal_of_preview(
    withheld: &mut WithheldDeletions,
    catalogue: &Catalogue,
    holdings: &Holdings,
    options: &ScanOptions,
) -> Result<Option<Error>, Error> {
    match withheld.check(catalogue, holdings, options) {
        Err(refused @ (Error::DeletionsRefused { .. } | Error::SetMoved { .. }))
            if options.found.is_some() =>
        {
            Ok(Some(refused))
        }
        checked => checked.map(|()| None),
    }
}

/// Reports files that are left out by a rule, once for each rule.
fn report_skips(skips: &Skips, monitor: &dyn PublishMonitor) {
    let report = |skipped: &Skipped, what: &str| {
        if skipped.count > 0 {
            let first = String::from_utf8_lossy(&skipped.first);
            monitor.problem(&PublishProblem::warning(first, format!("{what}; {} in all", skipped.count)));
        }
    };
    report(
        &skips.private,
        "is not readable by everybody, so it is not published; what was published stays as it was",
    );
    report(&skips.links, "is a symbolic link, so it is not published");
    report(&skips.special, "is not a regular file, so it is not published");
}

/// Scans only some files and folders, each with everything below it, at the cost of these alone. A path outside every
/// root is ignored.
///
/// # Errors
/// As for [`scan`](super::scan).
pub(crate) fn scan_paths(
    holdings: &Holdings,
    catalogue: &Catalogue,
    paths: &[PathBuf],
    options: &ScanOptions,
    monitor: &dyn PublishMonitor,
) -> Result<ScanReport, Error> {
    let _alone = holdings.look_alone();
    let record = |batch| catalogue.record(batch);
    observe(holdings, catalogue, options, monitor, &record, |merge| {
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

fn refuse_unreadable(skips: &Skips, unreadable: u64, options: &ScanOptions) -> Result<(), Error> {
    let count = skips.private.count + skips.unreadable + unreadable;
    if options.unreadable == Unreadable::Fail && count > 0 {
        let first = String::from_utf8_lossy(&skips.private.first).into_owned();
        Err(Error::UnreadableRefused { count, first })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{NoMonitor, PublishOptions, Publisher, catalogue::FileStamp, scan::candidate::Candidate};

    #[test]
    fn o473_files_that_vanish_before_they_are_hashed_are_deletions_for_the_guard() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<_> = (0..20).map(|number| format!("{number}.txt")).collect();
        names.iter().for_each(|name| fs::write(folder.path().join(name), name).unwrap());
        let publish = PublishOptions::new(folder.path(), "http://example.org/");
        let mut publisher = Publisher::open(publish).unwrap();
        publisher.publish(&NoMonitor).unwrap();
        names.iter().for_each(|name| fs::remove_file(folder.path().join(name)).unwrap());
        let (holdings, catalogue) = (publisher.holdings(), publisher.catalogue());
        let options = ScanOptions::new(publisher.options());
        let record = |batch| catalogue.record(batch);
        let scanned = observe(holdings, catalogue, &options, &NoMonitor, &record, |merge| {
            let root = &holdings.roots()[0];
            for name in &names {
                let (path, stamp) = (name.clone().into_bytes(), FileStamp::default());
                merge.pipeline.candidate(Candidate::Walked { root, path, stamp, sets: 1 })?;
            }
            Ok(())
        });
        assert!(matches!(scanned, Err(Error::DeletionsRefused { deletions: 20, .. })), "{scanned:?}");
        assert_eq!(catalogue.snapshot().unwrap().totals(0).unwrap().resources, 20);
    }

    #[test]
    fn o698_a_file_that_a_manifest_names_and_that_vanishes_before_it_is_hashed_is_no_deletion() {
        let folder = tempfile::tempdir().unwrap();
        ["a", "b"].iter().for_each(|name| fs::write(folder.path().join(name), name).unwrap());
        let options = PublishOptions::new(folder.path(), "http://example.org/");
        let mut publisher = Publisher::open(options).unwrap();
        publisher.publish(&NoMonitor).unwrap();
        let (holdings, catalogue) = (publisher.holdings(), publisher.catalogue());
        let options = ScanOptions::new(publisher.options());
        let record = |batch| catalogue.record(batch);
        let known = catalogue.snapshot().unwrap().resources(1).next().unwrap().unwrap();
        let file = folder.path().join("gone");
        let scanned = observe(holdings, catalogue, &options, &NoMonitor, &record, |merge| {
            let (resource, stamp) = (Box::new(known.clone()), FileStamp::default());
            merge.pipeline.candidate(Candidate::Listed { resource, file: file.clone(), stamp })
        });
        let report = scanned.unwrap();
        assert_eq!((report.unreadable, report.recorded.deleted), (1, 0));
    }
}
