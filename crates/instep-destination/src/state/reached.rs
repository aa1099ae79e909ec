//! The points of the Source's time that the copy had reached after its runs. Its lag at any time follows from them.

use resourcesync::DateTime;
use rusqlite::Row;

use super::{CopyState, SetId, StateError};

/// The number of points that are kept: a year of hourly runs, or a week of a run in each minute.
const KEPT_POINTS: i64 = 10_000;
const MINUTE: i64 = 60_000_000;

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
    /// Creates a point.
    pub fn new(at: DateTime, reached: DateTime) -> Self {
        Self { at, reached }
    }
}

impl CopyState {
    /// Returns how far the copy is with some sets, which is as far as the one that is furthest behind; `None` before a
    /// first synchronization.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn reached(&self, sets: &[SetId]) -> Result<Option<DateTime>, StateError> {
        let mut least: Option<DateTime> = None;
        for set in sets {
            let reached = self.checkpoint(*set)?.and_then(|checkpoint| checkpoint.datetime);
            least = match (least, reached) {
                (Some(a), Some(b)) if b.instant() < a.instant() => Some(b),
                (a, b) => a.or(b),
            };
        }
        Ok(least)
    }

    /// Notes how far the copy is at a time. Of the points of one minute the last is kept, so that a copy that follows
    /// changes every second has no more of them than others.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub(crate) fn note_reached(&mut self, point: ReachedPoint) -> Result<(), StateError> {
        let at = point.at.unix_micros();
        let note = || {
            self.connection.execute(
                "INSERT OR REPLACE INTO reached (minute, at, datetime) VALUES (?1, ?2, ?3)",
                (at.div_euclid(MINUTE), at, point.reached.unix_micros()),
            )?;
            self.connection.execute(
                "DELETE FROM reached WHERE minute <=
                 (SELECT minute FROM reached ORDER BY minute DESC LIMIT 1 OFFSET ?1)",
                [KEPT_POINTS],
            )
        };
        note().map(|_| ()).map_err(|source| self.error(source))
    }

    /// Returns the points since a time, the oldest first, and the last one before it.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn reached_since(&self, since: DateTime) -> Result<Vec<ReachedPoint>, StateError> {
        let read = |row: &Row<'_>| {
            let time = |column| row.get(column).map(DateTime::from_unix_micros);
            Ok(ReachedPoint { at: time(0)?, reached: time(1)? })
        };
        let points = || {
            self.connection
                .prepare_cached(
                    "SELECT at, datetime FROM reached
                     WHERE minute >= COALESCE((SELECT MAX(minute) FROM reached WHERE minute < ?1), ?1)
                     ORDER BY minute",
                )?
                .query_map([since.unix_micros().div_euclid(MINUTE)], read)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        points().map_err(|source| self.error(source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime {
        DateTime::from_unix_micros(seconds * 1_000_000)
    }

    #[test]
    fn the_points_are_bounded_and_have_the_last_one_before_the_time_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let mut state = CopyState::open(&folder.path().join("state.sqlite")).unwrap();
        assert_eq!(state.reached_since(at(0)).unwrap(), []);
        let point = |seconds| ReachedPoint { at: at(seconds), reached: at(seconds - 5) };
        state.connection.execute_batch("BEGIN").unwrap();
        for minute in 0..KEPT_POINTS + 3 {
            state.note_reached(point(minute * 60)).unwrap();
            state.note_reached(point(minute * 60 + 30)).unwrap();
        }
        state.connection.execute_batch("COMMIT").unwrap();
        let all = state.reached_since(at(0)).unwrap();
        assert_eq!((all.len() as i64, all[0]), (KEPT_POINTS, point(3 * 60 + 30)));
        let last = state.reached_since(at((KEPT_POINTS + 2) * 60)).unwrap();
        assert_eq!(last, [KEPT_POINTS + 1, KEPT_POINTS + 2].map(|minute| point(minute * 60 + 30)));
    }
}
