//! This machine's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use resourcesync::DateTime;

/// Returns the time by this machine's clock: for the log of runs and the age of a Source, never to decide which version
/// is newer.
pub fn now() -> DateTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    DateTime::from_unix_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Microseconds that the times of a Source may be ahead of its server's clock.
const AHEAD: i64 = 5 * 60 * 1_000_000;

/// Returns the latest time that a document can name: a little after it was sent. Later ones come from a clock that is
/// wrong, and would hide every change that comes after them if a checkpoint moved there (D38). Without the server's
/// clock this machine's counts.
pub(crate) fn latest_time(sent: Option<DateTime>) -> DateTime {
    DateTime::from_unix_micros(sent.unwrap_or_else(now).unix_micros().saturating_add(AHEAD))
}
