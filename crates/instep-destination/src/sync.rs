//! The story: baseline, incremental, follow.

use crate::{Error, Monitor, SyncOptions, SyncReport};

/// Makes or refreshes a copy of a Source's resources (§5.2).
///
/// # Errors
/// What ends the whole run; what concerns one resource goes to the monitor and is owed.
pub async fn sync(options: &SyncOptions, monitor: &dyn Monitor) -> Result<SyncReport, Error> {
    let _ = monitor;
    std::future::ready(Err(Error::Usage { what: format!("{} cannot be synced yet", options.url) })).await
}
