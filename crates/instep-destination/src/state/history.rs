//! The log of runs and the pending retries, read for people: newest first, and bounded.

use resourcesync::{DateTime, Uri};

use super::{CopyState, StateError, codec};
use crate::history::{PastRun, PendingRetry, RunProblem};

impl CopyState {
    /// Returns the newest runs, the newest first.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn past_runs(&self, most: usize) -> Result<Vec<PastRun>, StateError> {
        let read = |row: &rusqlite::Row<'_>| {
            let started =
                DateTime::parse(row.get_ref(1)?.as_str()?).map_err(|error| codec::unreadable(1, error))?;
            Ok((
                row.get::<_, i64>(0)?,
                PastRun {
                    started,
                    ended: codec::datetime(row, 2)?,
                    way: row.get(3)?,
                    exit_code: row.get(4)?,
                    summary: row.get(5)?,
                    problems: Vec::new(),
                },
            ))
        };
        let runs = || {
            let mut runs = self
                .connection
                .prepare_cached(
                    "SELECT id, started, finished, what, exit_code, summary FROM run ORDER BY id DESC LIMIT ?1",
                )?
                .query_map([most as i64], read)?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            for (id, run) in &mut runs {
                run.problems = self.problems_of(*id)?;
            }
            Ok(runs.into_iter().map(|(_, run)| run).collect())
        };
        runs().map_err(|source| self.error(source))
    }

    fn problems_of(&self, run: i64) -> rusqlite::Result<Vec<RunProblem>> {
        self.connection
            .prepare_cached(
                "SELECT kind, count, uri, message FROM problem WHERE run = ?1 ORDER BY count DESC",
            )?
            .query_map([run], |row| {
                Ok(RunProblem {
                    kind: row.get(0)?,
                    count: row.get::<_, i64>(1)?.cast_unsigned(),
                    first: codec::text(row, 2)?.map(|_| codec::uri(row, 2)).transpose()?,
                    message: row.get(3)?,
                })
            })?
            .collect()
    }

    /// Returns the pending retries of all sets behind a URI, in order.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn pending_retries(&self, after: &str, most: usize) -> Result<Vec<PendingRetry>, StateError> {
        let read = |row: &rusqlite::Row<'_>| {
            let uri: Uri = codec::uri(row, 0)?;
            Ok(PendingRetry { uri, attempts: row.get(1)?, reason: row.get(2)? })
        };
        let page = || {
            self.connection
                .prepare_cached("SELECT uri, attempts, why FROM owed WHERE uri > ?1 ORDER BY uri LIMIT ?2")?
                .query_map((after, most as i64), read)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        page().map_err(|source| self.error(source))
    }
}
