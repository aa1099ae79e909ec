//! The progress of a copy: the points of the Source's time that it had reached after its runs. They determine its lag
//! at any time.

use resourcesync::DateTime;

/// The number of points that are kept: a year of hourly runs, or a week of a run in each minute.
pub(super) const KEPT_POINTS: i64 = 10_000;

/// The number of microseconds of a minute. Of the points within one minute the last is kept.
pub(super) const MINUTE: i64 = 60_000_000;

/// The point of the Source's time that a copy had reached at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReachedPoint {
    /// The time at which the run ended, by this machine's clock.
    pub at: DateTime,
    /// The Source's time up to which everything was committed or owed.
    pub reached: DateTime,
}

impl ReachedPoint {
    /// Returns a point.
    pub fn new(at: DateTime, reached: DateTime) -> Self {
        Self { at, reached }
    }
}
