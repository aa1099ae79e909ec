//! The time of the Source, which never stops and never goes back (S6).

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::SystemTime,
};

use resourcesync::DateTime;

/// A clock that returns the time in microseconds since 1970.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Returns the system's clock.
pub fn system_clock() -> Clock {
    Arc::new(|| DateTime::from(SystemTime::now()).unix_micros())
}

/// Microseconds that the last datetime may be later than the clock: clocks are set back by seconds now and then.
const AHEAD: i64 = 300_000_000;

/// Assigns datetimes, each later than all before it, whatever the clock does.
pub(super) struct Timeline {
    clock: Clock,
    last: AtomicI64,
}

impl Timeline {
    /// Returns a timeline that continues after the last datetime that was assigned before.
    pub(super) fn after(last: i64, clock: Clock) -> Self {
        Self { clock, last: AtomicI64::new(last) }
    }

    /// Returns the next datetime: now, or a microsecond after the last one.
    pub(super) fn next(&self) -> DateTime {
        // If the clock was set back, or two changes come within a microsecond, each time is still later than the one before.
        let now = (self.clock)();
        let later = |last: i64| now.max(last.saturating_add(1));
        let last = self.last.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| Some(later(last)));
        DateTime::from_unix_micros(later(last.unwrap_or_default()))
    }

    /// Continues after a datetime that was assigned elsewhere.
    #[cfg(feature = "postgres")]
    pub(super) fn go_on_after(&self, last: i64) {
        self.last.fetch_max(last, Ordering::SeqCst);
    }

    /// Returns the last datetime if it is more than [`AHEAD`] later than the clock.
    pub(super) fn ahead(&self) -> Option<DateTime> {
        let last = self.last();
        (last > (self.clock)().saturating_add(AHEAD)).then(|| DateTime::from_unix_micros(last))
    }

    /// Returns the last datetime that was assigned.
    pub(super) fn last(&self) -> i64 {
        self.last.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeline").field("last", &self.last()).finish_non_exhaustive()
    }
}
