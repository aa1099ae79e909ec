//! Compares the content with the catalogue and records what changed.

mod added;
mod algorithms;
mod candidate;
mod check;
mod hasher;
mod listed;
mod merge;
mod observe;
mod options;
mod pipeline;
mod reported;
mod supplied;
mod withheld;

use std::path::PathBuf;

use crate::{Error, Monitor, Phase, catalogue::Catalogue, content::Holdings};
pub use check::{Difference, DifferenceKind, check};
use observe::{complete_look, observe, observe_paths};
pub use options::{ScanOptions, ScanReport};
pub use reported::{ReportedChange, record_reported};

/// Looks at all content and records what changed: a file with the size, times and inode it had is not opened.
///
/// The first complete scan of a set records its resources without a line in the change log: they are its baseline.
/// A folder that cannot be read costs nothing that is known of it.
///
/// # Errors
/// If a root folder cannot be read or the catalogue fails; what was recorded until then stays, and the next scan
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
    let report = observe(holdings, catalogue, options, monitor, false, &record, |merge| {
        complete_look(merge, holdings)
    })?;
    algorithms::complete(catalogue, options)?;
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
    observe_paths(holdings, catalogue, paths, options, monitor)
}
