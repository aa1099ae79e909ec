//! The log of runs and their problems.

use resourcesync::{DateTime, Uri};
use rusqlite::{OptionalExtension as _, Row};

use super::{State, StateError, codec};

/// One run over this copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(i64);

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Run {
    /// Its number.
    pub id: RunId,
    /// When it began, by our clock.
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
pub struct Problem {
    /// The kind, as reports name it.
    pub kind: String,
    /// Their number.
    pub count: u64,
    /// The first resource that had it.
    pub uri: Option<Uri>,
    /// The message about that one.
    pub message: String,
}

impl Problem {
    /// Creates the record of problems of a kind, with the message about the first.
    pub fn new(kind: &str, count: u64, uri: Option<Uri>, message: String) -> Self {
        Self { kind: kind.to_owned(), count, uri, message }
    }
}

/// The number of runs that the log keeps.
const KEPT_RUNS: i64 = 100;

impl State {
    /// Notes that a run begins.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub fn begin_run(&mut self, started: DateTime, what: &str) -> Result<RunId, StateError> {
        let begin = || {
            self.connection
                .execute("INSERT INTO run (started, what) VALUES (?1, ?2)", (started.to_string(), what))?;
            let id = self.connection.last_insert_rowid();
            self.connection.execute("DELETE FROM run WHERE id <= ?1", [id - KEPT_RUNS])?;
            self.connection.execute("DELETE FROM problem WHERE run <= ?1", [id - KEPT_RUNS])?;
            Ok(RunId(id))
        };
        begin().map_err(|source| self.error(source))
    }

    /// Notes how a run ended, with its problems by kind.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub fn finish_run(&mut self, run: &Run, problems: &[Problem]) -> Result<(), StateError> {
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

    /// The last run, and its problems.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn last_run(&self) -> Result<Option<(Run, Vec<Problem>)>, StateError> {
        self.newest_run("TRUE")
    }

    /// The last run that came to an end, and its problems.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn last_ended_run(&self) -> Result<Option<(Run, Vec<Problem>)>, StateError> {
        self.newest_run("finished IS NOT NULL")
    }

    fn newest_run(&self, condition: &str) -> Result<Option<(Run, Vec<Problem>)>, StateError> {
        let read = || {
            let run = self
                .connection
                .query_row(
                    &format!(
                        "SELECT id, started, finished, what, exit_code, summary FROM run WHERE {condition}
                         ORDER BY id DESC LIMIT 1"
                    ),
                    [],
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

impl Run {
    /// A run that goes on.
    pub fn new(id: RunId, started: DateTime, what: &str) -> Self {
        Self { id, started, finished: None, what: what.to_owned(), exit_code: None, summary: None }
    }
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let started = DateTime::parse(row.get_ref(1)?.as_str()?).map_err(|error| codec::unreadable(1, error))?;
    Ok(Run {
        id: RunId(row.get(0)?),
        started,
        finished: codec::datetime(row, 2)?,
        what: row.get(3)?,
        exit_code: row.get(4)?,
        summary: row.get(5)?,
    })
}

fn read_problem(row: &Row<'_>) -> rusqlite::Result<Problem> {
    let uri = codec::text(row, 2)?.map(|_| codec::uri(row, 2)).transpose()?;
    Ok(Problem { kind: row.get(0)?, count: row.get::<_, i64>(1)?.cast_unsigned(), uri, message: row.get(3)? })
}
