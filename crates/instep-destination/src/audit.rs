//! Is the copy right?

use crate::{AuditOptions, AuditReport, Error, Monitor};

/// Compares the copy with its Source (DST-5): hashes what is held.
///
/// # Errors
/// What ends the whole audit; what concerns one resource goes to the monitor.
pub async fn audit(options: &AuditOptions, monitor: &dyn Monitor) -> Result<AuditReport, Error> {
    let _ = monitor;
    std::future::ready(Err(Error::Usage { what: format!("{} cannot be audited yet", options.dir.display()) }))
        .await
}
