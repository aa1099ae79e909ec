//! Records that belong to no group: sets, Sources, settings and the log.

use instep_postgres::{EngineFault, Session};
use resourcesync::{DateTime, Uri};

use super::{
    PostgresState,
    followed_row::{self, FollowedSet, put_owner},
    known::RememberedRows,
    row,
};
use crate::state::{
    KEPT_RUNS, LoggedProblem, LoggedRun, ReachedPoint, ReadFollowed as _, RunId, SetId, SourceId, StateError,
    WriteRecords, codec,
};

impl WriteRecords for PostgresState {
    fn set(&mut self, uri: &str) -> Result<SetId, StateError> {
        let sets = self.followed_sets()?;
        if let Some(known) = sets.iter().find(|set| set.uri == uri) {
            return Ok(known.id);
        }
        let free = sets.iter().map(|set| set.id.0 + 1).max().unwrap_or_default();
        if free >= SetId::MOST {
            return Err(StateError::TooManySets { uri: uri.to_owned(), most: SetId::MOST });
        }
        let set = FollowedSet { id: SetId(free), uri: uri.to_owned(), source: None, checkpoint: None };
        self.unwritten.sets.push((set.id, set.uri.clone()));
        self.known.iter().for_each(|known| known.add_set(set.clone()));
        Ok(set.id)
    }

    fn rename_set(&mut self, former: &str, name: &str) -> Result<(), StateError> {
        let sql = "UPDATE set_of_resources SET uri = $3 WHERE copy = $1 AND uri = $2";
        self.write(|session, copy| session.execute(sql, &[&copy, &former, &name]).map(drop))?;
        self.known.iter().for_each(RememberedRows::forget);
        Ok(())
    }

    fn reuse_set(&mut self, set: SetId, name: &str, settings: &[String]) -> Result<(), StateError> {
        let id = i64::from(set.0);
        self.write(|session, copy| {
            session.execute("DELETE FROM set_of_resources WHERE copy = $1 AND id = $2", &[&copy, &id])?;
            let sql = "INSERT INTO set_of_resources (copy, id, uri) VALUES ($1, $2, $3)";
            session.execute(sql, &[&copy, &id, &name])?;
            session.execute("DELETE FROM gone WHERE copy = $1 AND set_id = $2", &[&copy, &id])?;
            let sql = "DELETE FROM setting WHERE copy = $1 AND name = ANY($2)";
            session.execute(sql, &[&copy, &settings]).map(drop)
        })?;
        self.known.iter().for_each(RememberedRows::forget);
        Ok(())
    }

    fn set_setting(&mut self, name: &str, value: &str) -> Result<(), StateError> {
        if self.writer.is_none() {
            return Err(self.only_read().into());
        }
        if self.setting(name)?.as_deref() == Some(value) {
            return Ok(());
        }
        self.unwritten.settings.insert(name.to_owned(), value.to_owned());
        self.known.iter().for_each(|known| known.put_setting(name, value));
        Ok(())
    }

    fn found_source(&mut self, url: &str, sets: &[SetId]) -> Result<SourceId, StateError> {
        match self.source(url)? {
            Some(known) if self.has_all(known, sets)? => return Ok(known),
            None if sets.is_empty() => return self.new_source(url),
            _ => {}
        }
        let found = self.write(|session, copy| {
            let owners = owners(session, copy, sets)?;
            let source = match (followed_row::known_source(session, copy, url)?, owners.first()) {
                (Some(known), _) => known,
                (None, Some(owner)) => {
                    let sql = "UPDATE source SET url = $3 WHERE copy = $1 AND id = $2";
                    session.execute(sql, &[&copy, &owner.number(), &url])?;
                    // The recorded way of discovery began at the former URL.
                    let sql = "DELETE FROM setting WHERE copy = $1 AND name = $2";
                    session.execute(sql, &[&copy, &owner.way_record()])?;
                    *owner
                }
                (None, None) => followed_row::put_source(session, copy, url)?,
            };
            for set in sets {
                put_owner(session, copy, *set, source)?;
            }
            for other in owners.into_iter().filter(|owner| *owner != source) {
                unite(session, copy, other, source)?;
            }
            Ok(source)
        });
        self.known.iter().for_each(RememberedRows::forget);
        found
    }

    fn set_belongs_to(&mut self, set: SetId, source: SourceId) -> Result<(), StateError> {
        if self.has_all(source, &[set])? {
            return Ok(());
        }
        self.unwritten.owners.push((set, source));
        self.known.iter().for_each(|known| known.put_owner(set, source));
        Ok(())
    }

    fn begin_run(
        &mut self,
        started: DateTime,
        what: &str,
        source: Option<SourceId>,
    ) -> Result<RunId, StateError> {
        self.write(|session, copy| {
            let sql = "INSERT INTO run (copy, started, what, source) VALUES ($1, $2, $3, $4) RETURNING id";
            let values = &[&copy as _, &started.to_string() as _, &what as _, &source.map(SourceId::number) as _];
            let id: i64 = session.one(sql, values)?.try_get(0)?;
            // The last run of each Source stays, even if another Source runs often. All copies share the sequence of
            // numbers, so the runs to keep are counted.
            let sql = "DELETE FROM run WHERE copy = $1
                 AND id <= (SELECT id FROM run WHERE copy = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)
                 AND id NOT IN (SELECT MAX(id) FROM run WHERE copy = $1 AND finished IS NOT NULL GROUP BY source)";
            if session.execute(sql, &[&copy, &KEPT_RUNS])? == 0 {
                return Ok(RunId(id));
            }
            let sql = "DELETE FROM problem WHERE copy = $1 AND run NOT IN (SELECT id FROM run WHERE copy = $1)";
            session.execute(sql, &[&copy])?;
            Ok(RunId(id))
        })
    }

    fn run_is_of(&mut self, run: RunId, source: SourceId) -> Result<(), StateError> {
        self.unwritten.found.push((run, source));
        Ok(())
    }

    fn finish_run(&mut self, run: &LoggedRun, problems: &[LoggedProblem]) -> Result<(), StateError> {
        let summary = run.summary.as_deref().map(row::plain);
        self.write(|session, copy| {
            let sql = "UPDATE run SET finished = $3, what = $4, exit_code = $5, summary = $6 WHERE copy = $1 AND id = $2";
            let finished = codec::datetime_text(run.finished.as_ref());
            let exit_code = run.exit_code.map(i64::from);
            session.execute(sql, &[&copy, &run.id.0, &finished, &run.what, &exit_code, &summary])?;
            for problem in problems {
                let sql = "INSERT INTO problem (copy, run, kind, count, uri, message) VALUES ($1, $2, $3, $4, $5, $6)
                     ON CONFLICT (copy, run, kind) DO UPDATE SET count = excluded.count, uri = excluded.uri,
                     message = excluded.message";
                let uri = problem.uri.as_ref().map(Uri::as_str);
                let (count, message) = (problem.count.cast_signed(), row::plain(&problem.message));
                session.execute(sql, &[&copy, &run.id.0, &problem.kind, &count, &uri, &message])?;
            }
            Ok(())
        })
    }

    fn note_reached(&mut self, point: ReachedPoint) -> Result<(), StateError> {
        self.unwritten.reached.push(point);
        Ok(())
    }
}

impl PostgresState {
    fn new_source(&mut self, url: &str) -> Result<SourceId, StateError> {
        let source = self.write(|session, copy| followed_row::put_source(session, copy, url))?;
        self.known.iter().for_each(|known| known.add_source(source, url));
        Ok(source)
    }
}

/// Returns the Sources that sets belong to now.
fn owners(session: &Session, copy: i64, sets: &[SetId]) -> Result<Vec<SourceId>, EngineFault> {
    let sql = "SELECT DISTINCT source FROM set_of_resources
               WHERE copy = $1 AND id = ANY($2) AND source IS NOT NULL ORDER BY source";
    let sets: Vec<_> = sets.iter().map(|set| i64::from(set.0)).collect();
    let rows = session.query(sql, &[&copy, &sets])?;
    rows.iter().map(|row| Ok(SourceId::from_number(row.try_get(0)?))).collect()
}

/// Assigns the runs of a Source without sets to another one.
fn unite(session: &Session, copy: i64, other: SourceId, source: SourceId) -> Result<(), EngineFault> {
    let sql = "SELECT COUNT(*) FROM set_of_resources WHERE copy = $1 AND source = $2";
    let left: i64 = session.one(sql, &[&copy, &other.number()])?.try_get(0)?;
    if left == 0 {
        let sql = "UPDATE run SET source = $3 WHERE copy = $1 AND source = $2";
        session.execute(sql, &[&copy, &other.number(), &source.number()])?;
        session.execute("DELETE FROM source WHERE copy = $1 AND id = $2", &[&copy, &other.number()])?;
    }
    Ok(())
}
