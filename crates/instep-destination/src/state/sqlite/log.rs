//! The log of runs and their problems, newest first. Its length is bounded by `records.rs`, which writes it.

use resourcesync::DateTime;
use rusqlite::{OptionalExtension as _, Row};

use super::{SqliteState, row};
use crate::{
    report::{PastRun, RunProblem},
    state::{LoggedProblem, LoggedRun, MINUTE, ReachedPoint, ReadLog, RunId, SourceId, StateError},
};

impl ReadLog for SqliteState {
    fn past_runs(&self, most: usize) -> Result<Vec<PastRun>, StateError> {
        let read = |row: &Row<'_>| {
            let started =
                DateTime::parse(row.get_ref(1)?.as_str()?).map_err(|error| row::unreadable(1, error))?;
            Ok((
                row.get::<_, i64>(0)?,
                PastRun {
                    started,
                    ended: row::datetime(row, 2)?,
                    strategy: row.get(3)?,
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

    fn last_ended_run(
        &self,
        of: Option<SourceId>,
    ) -> Result<Option<(LoggedRun, Vec<LoggedProblem>)>, StateError> {
        let read = || {
            let run = self
                .connection
                .query_row(
                    "SELECT id, started, finished, what, exit_code, summary FROM run
                     WHERE finished IS NOT NULL AND (?1 IS NULL OR source = ?1) ORDER BY id DESC LIMIT 1",
                    [of.map(SourceId::number)],
                    read_run,
                )
                .optional()?;
            let Some(run) = run else { return Ok(None) };
            let problems = self
                .connection
                .prepare_cached("SELECT kind, count, uri, message FROM problem WHERE run = ?1 ORDER BY kind")?
                .query_map([run.id.0], read_problem)?
                .collect::<Result<_, _>>()?;
            Ok(Some((run, problems)))
        };
        read().map_err(|source| self.error(source))
    }

    fn reached_since(&self, since: DateTime) -> Result<Vec<ReachedPoint>, StateError> {
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

impl SqliteState {
    fn problems_of(&self, run: i64) -> rusqlite::Result<Vec<RunProblem>> {
        self.connection
            .prepare_cached(
                "SELECT kind, count, uri, message FROM problem WHERE run = ?1 ORDER BY count DESC",
            )?
            .query_map([run], |row| {
                Ok(RunProblem {
                    kind: row.get(0)?,
                    count: row.get::<_, i64>(1)?.cast_unsigned(),
                    first: row::text(row, 2)?.map(|_| row::uri(row, 2)).transpose()?,
                    message: row.get(3)?,
                })
            })?
            .collect()
    }
}

pub(super) fn read_run(row: &Row<'_>) -> rusqlite::Result<LoggedRun> {
    let started = DateTime::parse(row.get_ref(1)?.as_str()?).map_err(|error| row::unreadable(1, error))?;
    Ok(LoggedRun {
        id: RunId(row.get(0)?),
        started,
        finished: row::datetime(row, 2)?,
        what: row.get(3)?,
        exit_code: row.get(4)?,
        summary: row.get(5)?,
    })
}

pub(super) fn read_problem(row: &Row<'_>) -> rusqlite::Result<LoggedProblem> {
    let uri = row::text(row, 2)?.map(|_| row::uri(row, 2)).transpose()?;
    Ok(LoggedProblem {
        kind: row.get(0)?,
        count: row.get::<_, i64>(1)?.cast_unsigned(),
        uri,
        message: row.get(3)?,
    })
}
