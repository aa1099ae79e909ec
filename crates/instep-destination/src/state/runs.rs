//! The log of runs and their problems.

use resourcesync::{DateTime, Uri};
use rusqlite::{OptionalExtension as _, Row};

use super::{CopyState, SourceId, StateError, codec};

/// One run over this copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RunId(i64);

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct LoggedRun {
    /// Its number.
    pub id: RunId,
    /// The time at which it began, by this machine's clock.
    pub started: DateTime,
    /// The time at which it ended; `None` if it was killed or is in progress.
    pub finished: Option<DateTime>,
    /// Its kind: baseline, incremental.
    pub what: String,
    /// Its exit code.
    pub exit_code: Option<u8>,
    /// The line that it ended with.
    pub summary: Option<String>,
}

/// Problems of one kind in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct LoggedProblem {
    /// The kind, as reports name it.
    pub kind: String,
    /// Their number.
    pub count: u64,
    /// The first resource that had it.
    pub uri: Option<Uri>,
    /// The message about that one.
    pub message: String,
}

impl LoggedProblem {
    /// Creates the record of problems of a kind, with the message about the first.
    pub(crate) fn new(kind: &str, count: u64, uri: Option<Uri>, message: String) -> Self {
        Self { kind: kind.to_owned(), count, uri, message }
    }
}

/// The number of runs that the log keeps.
const KEPT_RUNS: i64 = 100;

impl CopyState {
    /// Notes that a run begins; `None` for a Source that is not known yet.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub(crate) fn begin_run(
        &mut self,
        started: DateTime,
        what: &str,
        source: Option<SourceId>,
    ) -> Result<RunId, StateError> {
        let begin = || {
            self.connection.execute(
                "INSERT INTO run (started, what, source) VALUES (?1, ?2, ?3)",
                (started.to_string(), what, source.map(SourceId::number)),
            )?;
            let id = self.connection.last_insert_rowid();
            // The last one of each Source stays, however often another Source is run.
            self.connection.execute(
                "DELETE FROM run WHERE id <= ?1
                 AND id NOT IN (SELECT MAX(id) FROM run WHERE finished IS NOT NULL GROUP BY source)",
                [id - KEPT_RUNS],
            )?;
            self.connection.execute("DELETE FROM problem WHERE run NOT IN (SELECT id FROM run)", [])?;
            Ok(RunId(id))
        };
        begin().map_err(|source| self.error(source))
    }

    /// Notes which Source a run has found.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub(crate) fn run_is_of(&mut self, run: RunId, source: SourceId) -> Result<(), StateError> {
        let noted =
            self.connection.execute("UPDATE run SET source = ?2 WHERE id = ?1", (run.0, source.number()));
        noted.map(|_| ()).map_err(|source| self.error(source))
    }

    /// Notes how a run ended, with its problems by kind.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub(crate) fn finish_run(
        &mut self,
        run: &LoggedRun,
        problems: &[LoggedProblem],
    ) -> Result<(), StateError> {
        let mut finish = || {
            let transaction = self.connection.transaction()?;
            transaction.execute(
                "UPDATE run SET finished = ?2, what = ?3, exit_code = ?4, summary = ?5 WHERE id = ?1",
                (
                    run.id.0,
                    codec::datetime_text(run.finished.as_ref()),
                    &run.what,
                    run.exit_code,
                    &run.summary,
                ),
            )?;
            for problem in problems {
                transaction.execute(
                    "INSERT OR REPLACE INTO problem (run, kind, count, uri, message) VALUES (?1, ?2, ?3, ?4, ?5)",
                    (
                        run.id.0,
                        &problem.kind,
                        problem.count.cast_signed(),
                        problem.uri.as_ref().map(Uri::as_str),
                        &problem.message,
                    ),
                )?;
            }
            transaction.commit()
        };
        finish().map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// The last run that came to an end, over one Source or over any, and its problems.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn last_ended_run(
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
}

impl LoggedRun {
    /// A run that goes on.
    pub(crate) fn new(id: RunId, started: DateTime, what: &str) -> Self {
        Self { id, started, finished: None, what: what.to_owned(), exit_code: None, summary: None }
    }
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<LoggedRun> {
    let started = DateTime::parse(row.get_ref(1)?.as_str()?).map_err(|error| codec::unreadable(1, error))?;
    Ok(LoggedRun {
        id: RunId(row.get(0)?),
        started,
        finished: codec::datetime(row, 2)?,
        what: row.get(3)?,
        exit_code: row.get(4)?,
        summary: row.get(5)?,
    })
}

fn read_problem(row: &Row<'_>) -> rusqlite::Result<LoggedProblem> {
    let uri = codec::text(row, 2)?.map(|_| codec::uri(row, 2)).transpose()?;
    Ok(LoggedProblem {
        kind: row.get(0)?,
        count: row.get::<_, i64>(1)?.cast_unsigned(),
        uri,
        message: row.get(3)?,
    })
}
