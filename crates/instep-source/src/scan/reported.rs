//! Changes that an application reports, so that nothing has to be scanned for them.

mod resources;

use std::path::PathBuf;

use instep_store::error_chain;
use resourcesync::Uri;

use super::{
    algorithms::hashing, candidate::Candidate, hasher::FileHasher, listed::file_stamp, observe::scan_paths,
    options::ScanOptions, tick::await_tick,
};
use crate::{
    Error, PublishMonitor, PublishProblem,
    catalogue::{Catalogue, Observation, Recorded, Resource, ResourceState},
    content::{Holdings, PathContent, Root, look},
};
use resources::{PathReport, ReportedResources};

/// A change of one resource that an application reports.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReportedChange {
    /// The resource is new, or has changed. If it is a file below a folder of the Source, its state is read from the
    /// file.
    Add {
        /// The resource.
        uri: Uri,
        /// Its state, as far as it is known.
        state: ResourceState,
    },
    /// The resource is gone. Ignored for a file that is still there.
    Remove {
        /// The resource.
        uri: Uri,
    },
    /// An object was put or removed: which of the two, and its state, are asked of the storage. Ignored for an object that
    /// no content of the Source has.
    Object {
        /// The bucket.
        bucket: String,
        /// The complete key of the object.
        key: String,
    },
}

impl ReportedChange {
    /// Reports a resource that is new or has changed.
    pub fn add(uri: Uri) -> Self {
        Self::Add { uri, state: ResourceState::new() }
    }

    /// Reports a resource that is gone.
    pub fn remove(uri: Uri) -> Self {
        Self::Remove { uri }
    }

    /// Reports an object that was put or removed.
    pub fn object(bucket: impl Into<String>, key: impl Into<String>) -> Self {
        Self::Object { bucket: bucket.into(), key: key.into() }
    }

    /// Reads changes in their JSON form: one by an application, with `uri` and `change` and the known state, named as
    /// in a manifest; or those of a message in which object storage names objects.
    ///
    /// # Errors
    /// A sentence that describes the fault.
    #[cfg(feature = "serve")]
    pub fn list_from_json(item: serde_json::Value) -> Result<Vec<Self>, String> {
        if !item.is_object() {
            return Err("not a JSON object".to_owned());
        }
        if let Some(objects) = super::object_event::named(&item)? {
            return Ok(objects.into_iter().map(|(bucket, key)| Self::object(bucket, key)).collect());
        }
        let listed = crate::content::listed(item)?;
        Ok(vec![match listed.change {
            Some(resourcesync::Change::Deleted) => Self::Remove { uri: listed.uri },
            _ => Self::Add { uri: listed.uri, state: listed.state },
        }])
    }
}

/// Records changes that an application reports; they are durable when this returns. Concurrent callers share a
/// commit.
///
/// Each resource that the application names belongs to all sets of the Source. Adding a known one is an update.
///
/// # Errors
/// If the catalogue fails, or a folder of the Source cannot be read.
pub(crate) fn record_reported(
    holdings: &Holdings,
    catalogue: &Catalogue,
    changes: Vec<ReportedChange>,
    options: &ScanOptions,
    monitor: &dyn PublishMonitor,
) -> Result<Recorded, Error> {
    let mut reported = ReportedResources::default();
    for change in changes {
        let (uri, state) = match change {
            ReportedChange::Object { bucket, key } => {
                let of_object = holdings.of_object(&bucket, &key).into_iter();
                let report = |(root, path)| PathReport { root, path, may_be_deletion: true };
                reported.paths.extend(of_object.map(report));
                continue;
            }
            ReportedChange::Add { uri, state } => (uri, Some(state)),
            ReportedChange::Remove { uri } => (uri, None),
        };
        match holdings.root_of_uri(uri.as_str()) {
            Some((root, path)) => {
                reported.paths.push(PathReport { root, path, may_be_deletion: state.is_none() });
            }
            None => reported.take_named(holdings, catalogue, uri, state, options.sets)?,
        }
    }
    if reported.paths.is_empty() && reported.listed.is_empty() {
        return Ok(catalogue.record(reported.observed)?);
    }
    record_files(holdings, catalogue, reported, options, monitor)
}

/// Returns the observation of a file that a manifest names; `None` if it cannot be read now.
fn observe_listed(
    resource: Resource,
    hasher: &mut FileHasher<'_>,
    monitor: &dyn PublishMonitor,
) -> Option<Observation> {
    let file = resource.file.clone()?;
    match file_stamp(&file) {
        Ok(stamp) => hasher.observe(Candidate::Listed { resource: Box::new(resource), file, stamp }),
        Err(what) => {
            let what = format!("{what}; its published entry stays");
            monitor.problem(&PublishProblem::skipped(file.display().to_string(), what));
            None
        }
    }
}

/// Makes each supplier inspect its own paths again.
fn look_at_supplies(
    holdings: &Holdings,
    files: &[PathReport<'_>],
    monitor: &dyn PublishMonitor,
) -> Result<(), Error> {
    for root in holdings.roots() {
        let Some(supply) = &root.supply else { continue };
        let own = files.iter().filter(|file| file.root.number == root.number);
        let paths: Vec<Vec<u8>> = own.map(|file| file.path.clone()).collect();
        if !paths.is_empty() {
            supply.0.look(&paths, monitor).map_err(Error::supplied(root.folder()))?;
        }
    }
    Ok(())
}

/// Inspects files and records them. Callers do so one after the other, so that the results are recorded in this order;
/// they wait for the disk at the same time.
fn record_files(
    holdings: &Holdings,
    catalogue: &Catalogue,
    reported: ReportedResources<'_>,
    options: &ScanOptions,
    monitor: &dyn PublishMonitor,
) -> Result<Recorded, Error> {
    let ReportedResources { paths: files, listed, mut observed } = reported;
    look_at_supplies(holdings, &files, monitor)?;
    let written = files.iter().filter_map(|file| match look(file.root, &file.path, options.private_too) {
        PathContent::File(stamp, _) => Some(stamp),
        _ => None,
    });
    await_tick(written);
    let hashing = hashing(catalogue, options)?;
    let mut hasher = FileHasher::new(catalogue, &hashing, monitor);
    let (mut guarded, mut unguarded): (Vec<PathBuf>, Vec<PathBuf>) = (Vec::new(), Vec::new());
    let alone = holdings.look_alone();
    observed.extend(listed.into_iter().filter_map(|resource| observe_listed(resource, &mut hasher, monitor)));
    for PathReport { root, path, may_be_deletion } in files {
        let scanned = if may_be_deletion { &mut unguarded } else { &mut guarded };
        if root.supply.is_some() || knows_below(catalogue, root, &path)? {
            scanned.push(root.path(&path));
            continue;
        }
        match look(root, &path, options.private_too) {
            PathContent::File(stamp, sets) => {
                let file = Candidate::Walked { root, path, stamp, sets };
                observed.extend(hasher.observe(file));
            }
            // Also if it is unknown: it may be about to be recorded in the catalogue.
            PathContent::Nothing if may_be_deletion => {
                observed.push(Observation::Gone { key: root.key(&path) });
            }
            // A changed file that is not there may be one of a disk that is not mounted.
            PathContent::Nothing | PathContent::Folder => scanned.push(root.path(&path)),
            PathContent::Unknown => {}
            PathContent::Unreadable(error) => {
                let what = format!("cannot be read: {error}; its published entry stays");
                monitor.problem(&PublishProblem::skipped(root.path(&path).display().to_string(), what));
            }
        }
    }
    let recording = catalogue.begin_to_record(observed)?;
    drop(alone);
    let mut recorded = recording.wait()?;
    recorded.add(&scan_folders(holdings, catalogue, &guarded, &unguarded, options, monitor)?);
    if let Some(spool) = hashing.spool.as_ref().filter(|_| hasher.done.kept > 0) {
        spool.trim().map_err(Error::write(spool.folder()))?;
    }
    Ok(recorded)
}

/// Scans folders, some of them without the guard, and records what changed in them.
fn scan_folders(
    holdings: &Holdings,
    catalogue: &Catalogue,
    guarded: &[PathBuf],
    unguarded: &[PathBuf],
    options: &ScanOptions,
    monitor: &dyn PublishMonitor,
) -> Result<Recorded, Error> {
    let mut recorded = Recorded::default();
    if !unguarded.is_empty() {
        let options = ScanOptions { guard: None, ..options.clone() };
        recorded.add(&scan_paths(holdings, catalogue, unguarded, &options, monitor)?.recorded);
    }
    if !guarded.is_empty() {
        match scan_paths(holdings, catalogue, guarded, options, monitor) {
            Ok(scanned) => recorded.add(&scanned.recorded),
            // All else is recorded. The report does not fail: each attempt would be refused again.
            Err(refused @ (Error::DeletionsRefused { .. } | Error::SetMoved { .. })) => {
                monitor.problem(&PublishProblem::warning("reported changes", error_chain(&refused)));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(recorded)
}

/// Returns `true` if a path is known as that of a folder.
fn knows_below(catalogue: &Catalogue, root: &Root, path: &[u8]) -> Result<bool, Error> {
    let key = root.key(path);
    let below = catalogue.stamps([&key, &b"/"[..]].concat(), [&key, &b"0"[..]].concat())?;
    Ok(below.peek().is_some())
}
