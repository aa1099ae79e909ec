//! The log of runs and their problems, newest first. Its length is bounded by `records.rs`, which writes it.

use instep_postgres::{EngineFault, Session};
use resourcesync::DateTime;
use tokio_postgres::Row;

use super::{PostgresState, row};
use crate::{
    report::{PastRun, RunProblem},
    state::{LoggedProblem, LoggedRun, MINUTE, ReachedPoint, ReadLog, RunId, SourceId, StateError},
};

/// The columns of [`read_run`].
const COLUMNS: &str = "id, started, finished, what, exit_code, summary";

impl ReadLog for PostgresState {
    fn past_runs(&self, most: usize) -> Result<Vec<PastRun>, StateError> {
        let sql = format!("SELECT {COLUMNS} FROM run WHERE copy = $1 ORDER BY id DESC LIMIT $2");
        let past = |session: &Session, from: &Row| {
            let run = read_run(from)?;
            let problems =
                problems(session, self.copy, run.id, "count DESC, kind")?.into_iter().map(|problem| {
                    let LoggedProblem { kind, count, uri, message } = problem;
                    RunProblem { kind, count, first: uri, message }
                });
            Ok(PastRun {
                started: run.started,
                ended: run.finished,
                strategy: run.what,
                exit_code: run.exit_code,
                summary: run.summary,
                problems: problems.collect(),
            })
        };
        self.read(|session| {
            let rows = session.query(&sql, &[&self.copy, &(most as i64)])?;
            rows.iter().map(|row| past(session, row)).collect()
        })
    }

    fn last_ended_run(
        &self,
        of: Option<SourceId>,
    ) -> Result<Option<(LoggedRun, Vec<LoggedProblem>)>, StateError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM run WHERE copy = $1 AND finished IS NOT NULL
             AND ($2::bigint IS NULL OR source = $2::bigint) ORDER BY id DESC LIMIT 1"
        );
        self.read(|session| {
            let found = session.optional(&sql, &[&self.copy, &of.map(SourceId::number)])?;
            let Some(run) = found.as_ref().map(read_run).transpose()? else { return Ok(None) };
            let problems = problems(session, self.copy, run.id, "kind")?;
            Ok(Some((run, problems)))
        })
    }

    fn reached_since(&self, since: DateTime) -> Result<Vec<ReachedPoint>, StateError> {
        let sql = "SELECT at, datetime FROM reached WHERE copy = $1 AND minute >=
                   COALESCE((SELECT MAX(minute) FROM reached WHERE copy = $1 AND minute < $2), $2) ORDER BY minute";
        let read = |from: &Row| {
            let time = |column| from.try_get(column).map(DateTime::from_unix_micros);
            Ok(ReachedPoint { at: time(0)?, reached: time(1)? })
        };
        let minute = since.unix_micros().div_euclid(MINUTE);
        self.read(|session| session.query(sql, &[&self.copy, &minute])?.iter().map(read).collect())
    }
}

pub(super) fn read_run(from: &Row) -> Result<LoggedRun, EngineFault> {
    let exit_code: Option<i64> = from.try_get(4)?;
    Ok(LoggedRun {
        id: RunId(from.try_get(0)?),
        started: DateTime::parse(from.try_get(1)?).map_err(row::value)?,
        finished: row::datetime(from, 2)?,
        what: from.try_get(3)?,
        exit_code: exit_code.map(u8::try_from).transpose().map_err(row::value)?,
        summary: from.try_get(5)?,
    })
}

fn problems(
    session: &Session,
    copy: i64,
    run: RunId,
    order: &str,
) -> Result<Vec<LoggedProblem>, EngineFault> {
    let sql = format!(
        "SELECT kind, count, uri, message FROM problem WHERE copy = $1 AND run = $2 ORDER BY {order}"
    );
    session.query(&sql, &[&copy, &run.0])?.iter().map(read_problem).collect()
}

pub(super) fn read_problem(from: &Row) -> Result<LoggedProblem, EngineFault> {
    Ok(LoggedProblem {
        kind: from.try_get(0)?,
        count: row::count(from, 1)?,
        uri: row::text(from, 2)?.map(|_| row::uri(from, 2)).transpose()?,
        message: from.try_get(3)?,
    })
}
