//! This machine's clock, and those of servers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use resourcesync::DateTime;

/// Returns the time by this machine's clock: for the log of runs and the age of a Source, never to decide which version
/// is newer.
pub fn now() -> DateTime {
    SystemTime::now().into()
}

/// Returns a time that a server stated, in whole seconds; `None` if it is before 1970.
pub(crate) fn in_seconds(time: SystemTime) -> Option<DateTime> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    Some(DateTime::from_unix_seconds(i64::try_from(since.as_secs()).ok()?))
}

/// Reads a date of HTTP; `None` if it is none.
pub(crate) fn http_date(text: &str) -> Option<DateTime> {
    in_seconds(httpdate::parse_http_date(text).ok()?)
}

/// Microseconds that the times of a Source may be ahead of its server's clock.
const AHEAD: i64 = 5 * 60 * 1_000_000;

/// Returns the latest time that a document can name: shortly after it was sent. Later times come from a wrong clock,
/// and would hide every following change if a checkpoint moved there (D38). Without the server's clock, this
/// machine's is used.
pub(crate) fn latest_time(sent: Option<DateTime>) -> DateTime {
    DateTime::from_unix_micros(sent.unwrap_or_else(now).unix_micros().saturating_add(AHEAD))
}

/// Returns `true` if a time is so long before another one of the same clock that the clock went back meanwhile: Sources may
/// state some times a little too early.
pub(crate) fn is_long_before(time: DateTime, other: DateTime) -> bool {
    let (end, _) = time.end();
    DateTime::from_unix_seconds(end).unix_micros().saturating_add(AHEAD) <= other.unix_micros()
}

/// The clocks of a run: this machine's, and those of the servers that answered so far. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clocks {
    /// The newest time that a server stated for an answer, in microseconds; 0 if none did.
    server: Arc<AtomicI64>,
}

impl Clocks {
    /// Notes the time that a server stated for an answer.
    pub(crate) fn note(&self, sent: DateTime) {
        self.server.fetch_max(sent.unix_micros(), Relaxed);
    }

    /// Returns the present time by the clock that is ahead of the others. The server's clock alone is not trusted, because
    /// an attacker who replays old documents can also state old times (D36).
    pub(crate) fn present(&self) -> DateTime {
        DateTime::from_unix_micros(self.server.load(Relaxed)).max(now())
    }

    /// Returns the latest possible present time.
    pub(crate) fn latest_time(&self) -> DateTime {
        latest_time(Some(self.present()))
    }

    /// Returns `true` if the servers' clocks are behind a time that an earlier run read from them (O45).
    pub(crate) fn went_back_behind(&self, reached: Option<DateTime>) -> bool {
        let server = self.server.load(Relaxed);
        server > 0 && reached.is_some_and(|reached| server.saturating_add(AHEAD) < reached.unix_micros())
    }
}
