//! Compares the content with the catalogue and records what changed.

mod added;
mod algorithms;
mod candidate;
mod check;
mod hasher;
mod listed;
mod merge;
#[cfg(feature = "serve")]
mod object_event;
mod observe;
mod options;
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
pub(crate) use observe::scan_paths;
use observe::{complete_look, observe};
pub(crate) use options::ScanOptions;
pub use options::ScanReport;
pub use reported::ReportedChange;
pub(crate) use reported::record_reported;
pub(crate) use stop::ScanStop;

/// Looks at all content and records what changed: a file with the size, times and inode it had is not opened.
///
/// The first complete scan of a set records its resources without a line in the change log: they are its baseline.
/// A folder that cannot be read costs nothing that is known of it.
///
/// # Errors
/// If a root folder cannot be read or the catalogue fails; what was recorded until then stays, and the next scan
/// goes on from there.
pub(crate) fn scan(
    holdings: &Holdings,
    catalogue: &Catalogue,
    options: &ScanOptions,
    monitor: &dyn PublishMonitor,
) -> Result<ScanReport, Error> {
    let _alone = holdings.look_alone();
    monitor.phase(PublishPhase::Scan);
    let record = |batch| catalogue.record(batch);
    let report = observe(holdings, catalogue, options, monitor, false, &record, |merge| {
        complete_look(merge, holdings)
    })?;
    algorithms::complete(catalogue, options)?;
    Ok(report)
}
