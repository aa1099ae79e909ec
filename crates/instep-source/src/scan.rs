//! Compares the content with the catalogue and records what changed.
//!
//! A file whose size, times and inode are unchanged is not opened. A file that was written less than a tick of the
//! clock ago is hashed after the tick; one that changed while it was hashed is hashed again. If a file system keeps
//! coarse times (multiples of 10 ms), a file whose times lie within 2 s of its hashing is hashed again in the next
//! scan, as git does.

mod added;
mod algorithms;
mod candidate;
mod check;
mod former_uris;
mod found;
mod hasher;
mod listed;
mod merge;
mod named;
#[cfg(feature = "serve")]
mod object_event;
mod observe;
mod options;
mod other_places;
mod pipeline;
mod recent_changes;
mod reported;
mod stop;
mod supplied;
mod tick;
mod withheld;

use crate::{Error, PublishMonitor, PublishPhase, catalogue::Catalogue, content::Holdings};
pub(crate) use check::check;
pub use check::{Difference, DifferenceKind};
pub(crate) use former_uris::{SourceMove, refuse_before_move};
pub(crate) use observe::scan_paths;
use observe::{complete_look, observe};
pub(crate) use options::ScanOptions;
pub use options::ScanReport;
pub use reported::ReportedChange;
pub(crate) use reported::record_reported;
pub(crate) use stop::ScanStop;

/// Scans all content and records changes: a file with unchanged size, times and inode is not opened.
///
/// The first complete scan of a set records its resources without a line in the change log: they are its baseline.
/// The records of a folder that cannot be read are kept.
///
/// # Errors
/// If a root folder cannot be read or the catalogue fails; changes recorded until then stay, and the next scan
/// continues from there.
pub(crate) fn scan(
    holdings: &Holdings,
    catalogue: &Catalogue,
    options: &ScanOptions,
    monitor: &dyn PublishMonitor,
) -> Result<ScanReport, Error> {
    let _alone = holdings.look_alone();
    monitor.phase(PublishPhase::Scan);
    let record = |batch| catalogue.record(batch);
    let report =
        observe(holdings, catalogue, options, monitor, &record, |merge| complete_look(merge, holdings))?;
    algorithms::complete(catalogue, options)?;
    catalogue.empty_log_after(&report.recorded)?;
    Ok(report)
}
