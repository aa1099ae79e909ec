//! Rows for the records of another state, many in a statement if possible.

use std::collections::BTreeMap;

use instep_postgres::{EngineFault, Session, Values};
use resourcesync::Uri;

use super::super::{followed_row, held, pending, row};
use crate::{
    changes::CopyChange,
    records::operations,
    state::{
        HeldResource, LoggedProblem, LoggedRun, MINUTE, Operation, ReachedPoint, SourceId, StateRecord, codec,
    },
};

/// A state while it is filled.
pub(super) struct PostgresFilling<'s> {
    session: &'s Session,
    copy: i64,
    next_id: i64,
    /// The number of each run in this database, by its number in the records.
    runs: BTreeMap<i64, i64>,
}

impl<'s> PostgresFilling<'s> {
    pub(super) fn of(session: &'s Session, copy: i64) -> Self {
        Self { session, copy, next_id: 1, runs: BTreeMap::new() }
    }

    /// Puts records of one kind.
    pub(super) fn put(&mut self, records: &[StateRecord]) -> Result<(), EngineFault> {
        if let Some(StateRecord::Held { .. }) = records.first() {
            return self.put_held(records);
        }
        if let Some(StateRecord::Owed { .. }) = records.first() {
            let owed = records.iter().filter_map(|record| match record {
                StateRecord::Owed { set, owed } => Some((*set, owed)),
                _ => None,
            });
            return pending::put(self.session, self.copy, &owed.collect::<Vec<_>>());
        }
        if let Some(StateRecord::Gone { .. }) = records.first() {
            let gone = records.iter().filter_map(|record| match record {
                StateRecord::Gone { set, uri, at } => Some((uri.clone(), *set, *at)),
                _ => None,
            });
            return pending::put_gone(self.session, self.copy, &gone.collect::<Vec<_>>());
        }
        records.iter().try_for_each(|record| self.put_one(record))
    }

    fn put_one(&mut self, record: &StateRecord) -> Result<(), EngineFault> {
        let copy = &self.copy;
        let put = |sql: &str, values: &Values<'_>| self.session.execute(sql, values).map(drop);
        match record {
            StateRecord::Source { url, way } => self.put_source(url, way.as_deref()),
            StateRecord::Set { id, name, source, checkpoint } => {
                let sql = "INSERT INTO set_of_resources (copy, id, uri, source)
                           VALUES ($1, $2, $3, (SELECT id FROM source WHERE copy = $1 AND url = $4))";
                put(sql, &[copy, &i64::from(id.0), name, source])?;
                checkpoint.as_ref().map_or(Ok(()), |checkpoint| {
                    followed_row::put_checkpoint(self.session, self.copy, *id, checkpoint)
                })
            }
            StateRecord::Setting { name, value } => {
                put("INSERT INTO setting (copy, name, value) VALUES ($1, $2, $3)", &[copy, name, value])
            }
            StateRecord::Document(document) => followed_row::put_document(self.session, self.copy, document),
            StateRecord::Run { run, source } => self.put_run(run, source.as_deref()),
            StateRecord::Problem { run, problem } => self.put_problem(*run, problem),
            StateRecord::Reached(ReachedPoint { at, reached }) => {
                let (at, reached) = (at.unix_micros(), reached.unix_micros());
                let sql = "INSERT INTO reached (copy, minute, at, datetime) VALUES ($1, $2, $3, $4)";
                put(sql, &[copy, &at.div_euclid(MINUTE), &at, &reached])
            }
            StateRecord::Object { key, bytes, dead } => {
                let sql = "INSERT INTO pack (copy, key, bytes, dead) VALUES ($1, $2, $3, $4)";
                put(sql, &[copy, &&**key, &bytes.map(u64::cast_signed), &dead.cast_signed()])
            }
            StateRecord::Change(change) => self.put_change(change),
            StateRecord::Group(group) => {
                let bytes = operations::to_bytes(group).map_err(row::value)?;
                let sql = "INSERT INTO intent (copy, version, operations) VALUES ($1, $2, $3)";
                put(sql, &[copy, &i64::from(operations::VERSION), &bytes])
            }
            // Many records are written with one statement.
            StateRecord::Held { .. } | StateRecord::Owed { .. } | StateRecord::Gone { .. } => {
                self.put(std::slice::from_ref(record))
            }
        }
    }

    fn put_held(&mut self, records: &[StateRecord]) -> Result<(), EngineFault> {
        let mut racy = BTreeMap::new();
        let mut operations = Vec::with_capacity(records.len());
        for record in records {
            let StateRecord::Held { held, name } = record else { continue };
            let HeldResource { uri, path, place, metadata, sets, is_racy, .. } = held.clone();
            if is_racy {
                racy.insert(uri.as_str().to_owned(), true);
            }
            let key = name.clone();
            operations.push(Operation::Place {
                uri,
                path,
                key,
                staged: 0,
                sets,
                metadata,
                replaces: false,
                place,
            });
        }
        let placed: Vec<&Operation> = operations.iter().collect();
        held::put(self.session, self.copy, self.next_id, &placed)?;
        self.next_id += placed.len() as i64;
        if racy.is_empty() { Ok(()) } else { held::set_racy(self.session, self.copy, &racy) }
    }

    fn put_source(&self, url: &str, way: Option<&str>) -> Result<(), EngineFault> {
        let sql = "INSERT INTO source (copy, url) VALUES ($1, $2) RETURNING id";
        let id = self.session.one(sql, &[&self.copy, &url])?.try_get(0)?;
        let Some(way) = way else { return Ok(()) };
        let sql = "INSERT INTO setting (copy, name, value) VALUES ($1, $2, $3)";
        let name = SourceId::from_number(id).way_record();
        self.session.execute(sql, &[&self.copy, &name, &way]).map(drop)
    }

    fn put_run(&mut self, run: &LoggedRun, source: Option<&str>) -> Result<(), EngineFault> {
        let sql = "INSERT INTO run (copy, started, finished, what, exit_code, summary, source)
                   VALUES ($1, $2, $3, $4, $5, $6, (SELECT id FROM source WHERE copy = $1 AND url = $7)) RETURNING id";
        let (started, finished) = (run.started.to_string(), codec::datetime_text(run.finished.as_ref()));
        let exit_code = run.exit_code.map(i64::from);
        let values = &[
            &self.copy as _,
            &started as _,
            &finished as _,
            &run.what as _,
            &exit_code as _,
            &run.summary as _,
            &source as _,
        ];
        let id = self.session.one(sql, values)?.try_get(0)?;
        self.runs.insert(run.id.0, id);
        Ok(())
    }

    fn put_problem(&self, run: i64, problem: &LoggedProblem) -> Result<(), EngineFault> {
        let sql =
            "INSERT INTO problem (copy, run, kind, count, uri, message) VALUES ($1, $2, $3, $4, $5, $6)";
        let LoggedProblem { kind, count, uri, message } = problem;
        let uri = uri.as_ref().map(Uri::as_str);
        // A problem without its run is left out, which is noticed when everything is read back.
        let Some(run) = self.runs.get(&run) else { return Ok(()) };
        self.session.execute(sql, &[&self.copy, run, kind, &count.cast_signed(), &uri, message]).map(drop)
    }

    fn put_change(&self, change: &CopyChange) -> Result<(), EngineFault> {
        let sql = "INSERT INTO change (copy, sequence, change, uri, path, length, digests, lastmod, datetime)
                   OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let times = [change.lastmod.as_ref(), change.datetime.as_ref()].map(codec::datetime_text);
        self.session
            .execute(
                sql,
                &[
                    &self.copy,
                    &change.sequence,
                    &change.change.as_str(),
                    &change.uri,
                    &change.path,
                    &change.length.map(u64::cast_signed),
                    &codec::digests_to_blob(&change.digests),
                    &times[0],
                    &times[1],
                ],
            )
            .map(drop)
    }

    /// Sets the next numbers of rows and changes.
    pub(super) fn finish(self, last_change: i64) -> Result<(), EngineFault> {
        let sql = "UPDATE copy SET next_id = $2 WHERE id = $1";
        self.session.execute(sql, &[&self.copy, &self.next_id])?;
        // Under a lock, so that no other number is assigned between the reading and the setting.
        self.session.batch("LOCK TABLE change IN SHARE ROW EXCLUSIVE MODE")?;
        let sql = "SELECT setval(s.name, $1) FROM (SELECT pg_get_serial_sequence('change', 'sequence')::regclass AS name) s
                   WHERE COALESCE(pg_sequence_last_value(s.name), 0) < $1";
        self.session.query(sql, &[&last_change]).map(drop)
    }
}
