//! The clock of the hub, which notices that the system's clock was set: leases last as long as they were granted for.

use std::time::{Instant, SystemTime};

use resourcesync::DateTime;

/// The smallest step that counts, in microseconds. Smaller ones are corrections of a clock that is right.
const SMALLEST_STEP: i64 = 1_000_000;

/// A clock that is compared with one that nobody can set.
#[derive(Debug, Default)]
pub(super) struct HubClock {
    /// The last time that was read, with its moment.
    last: Option<(i64, Instant)>,
}

impl HubClock {
    /// Returns the time of the system, in microseconds since 1970.
    pub(super) fn of_system() -> i64 {
        DateTime::from(SystemTime::now()).unix_micros()
    }

    /// Records that the system's clock showed a time at a moment. Returns the step by which it was set since the last one; 0 if
    /// it was not set.
    pub(super) fn shows(&mut self, time: i64, moment: Instant) -> i64 {
        let Some((before, then)) = self.last.replace((time, moment)) else { return 0 };
        let passed = moment.saturating_duration_since(then).as_micros();
        let expected = before.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX));
        let step = time.saturating_sub(expected);
        if step.unsigned_abs() < SMALLEST_STEP.unsigned_abs() { 0 } else { step }
    }
}
