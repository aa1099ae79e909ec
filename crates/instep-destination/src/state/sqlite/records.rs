//! Records that belong to no group: sets, Sources, settings and the log.

use resourcesync::{DateTime, Uri};

use super::{SqliteState, sources};
use crate::state::{
    KEPT_POINTS, KEPT_RUNS, LoggedProblem, LoggedRun, MINUTE, ReachedPoint, ReadFollowed as _, RunId, SetId,
    SourceId, StateError, WriteRecords, codec,
};

impl WriteRecords for SqliteState {
    fn set(&mut self, uri: &str) -> Result<SetId, StateError> {
        if let Some(set) = self.known_set(uri)? {
            return Ok(set);
        }
        let free = self.free_set(0, uri)?;
        self.connection
            .execute("INSERT INTO set_of_resources (id, uri) VALUES (?1, ?2)", (free.0, uri))
            .map_err(|source| self.error(source))?;
        Ok(free)
    }

    fn rename_set(&mut self, former: &str, name: &str) -> Result<(), StateError> {
        self.connection
            .execute("UPDATE set_of_resources SET uri = ?2 WHERE uri = ?1", (former, name))
            .map(|_| ())
            .map_err(|source| self.error(source))
    }

    fn reuse_set(&mut self, set: SetId, name: &str, settings: &[String]) -> Result<(), StateError> {
        let path = &self.path;
        let mut reuse = || {
            let transaction = self.connection.transaction()?;
            transaction.execute("DELETE FROM set_of_resources WHERE id = ?1", [set.0])?;
            transaction.execute("INSERT INTO set_of_resources (id, uri) VALUES (?1, ?2)", (set.0, name))?;
            transaction.execute("DELETE FROM gone WHERE set_id = ?1", [set.0])?;
            for setting in settings {
                transaction.execute("DELETE FROM setting WHERE name = ?1", [setting])?;
            }
            transaction.commit()
        };
        reuse().map_err(|source| StateError::sqlite(path, source))
    }

    fn set_setting(&mut self, name: &str, value: &str) -> Result<(), StateError> {
        put_setting(&self.connection, name, value).map_err(|source| self.error(source))
    }

    fn found_source(&mut self, url: &str, sets: &[SetId]) -> Result<SourceId, StateError> {
        let path = &self.path;
        let mut record = || {
            let transaction = self.connection.transaction()?;
            let owners = sources::owners(&transaction, sets)?;
            let source = match (sources::known(&transaction, url)?, owners.first()) {
                (Some(known), _) => known,
                (None, Some(owner)) => {
                    transaction.execute("UPDATE source SET url = ?2 WHERE id = ?1", (owner.0, url))?;
                    // The recorded way of discovery began at the former URL.
                    transaction.execute("DELETE FROM setting WHERE name = ?1", [owner.way_record()])?;
                    *owner
                }
                (None, None) => {
                    transaction.execute("INSERT INTO source (url) VALUES (?1)", [url])?;
                    SourceId(transaction.last_insert_rowid())
                }
            };
            for set in sets {
                sources::put_set(&transaction, *set, source)?;
            }
            for other in owners.into_iter().filter(|owner| *owner != source) {
                sources::unite(&transaction, other, source)?;
            }
            transaction.commit()?;
            Ok(source)
        };
        record().map_err(|source| StateError::sqlite(path, source))
    }

    fn set_belongs_to(&mut self, set: SetId, source: SourceId) -> Result<(), StateError> {
        sources::put_set(&self.connection, set, source).map_err(|source| self.error(source))
    }

    fn begin_run(
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
            // The last run of each Source stays, even if another Source runs often.
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

    fn run_is_of(&mut self, run: RunId, source: SourceId) -> Result<(), StateError> {
        let noted =
            self.connection.execute("UPDATE run SET source = ?2 WHERE id = ?1", (run.0, source.number()));
        noted.map(|_| ()).map_err(|source| self.error(source))
    }

    fn finish_run(&mut self, run: &LoggedRun, problems: &[LoggedProblem]) -> Result<(), StateError> {
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

    fn note_reached(&mut self, point: ReachedPoint) -> Result<(), StateError> {
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
}

pub(super) fn put_setting(
    connection: &rusqlite::Connection,
    name: &str,
    value: &str,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO setting (name, value) VALUES (?1, ?2)";
    connection.execute(sql, [name, value]).map(drop)
}
