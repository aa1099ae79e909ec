//! Rows for the records of another state.

use resourcesync::Uri;
use rusqlite::{OptionalExtension as _, ToSql, Transaction, params};

use super::super::{followed, held, packs, pending, row, sources};
use crate::{
    records::operations,
    state::{LoggedProblem, LoggedRun, MINUTE, ReachedPoint, SourceId, StateRecord, codec},
};

/// A file while it is filled.
pub(super) struct SqliteFilling<'t, 'c> {
    transaction: &'t Transaction<'c>,
    next_id: i64,
}

impl<'t, 'c> SqliteFilling<'t, 'c> {
    pub(super) fn of(transaction: &'t Transaction<'c>) -> Self {
        Self { transaction, next_id: 1 }
    }

    pub(super) fn put(&mut self, record: &StateRecord) -> rusqlite::Result<()> {
        let to = self.transaction;
        let put = |sql: &str, values: &[&dyn ToSql]| to.prepare_cached(sql)?.execute(values).map(drop);
        match record {
            StateRecord::Source { url, way } => self.put_source(url, way.as_deref()),
            StateRecord::Set { id, name, source, checkpoint } => {
                put(
                    "INSERT INTO set_of_resources (id, uri, source) VALUES (?1, ?2, (SELECT s.id FROM source AS s WHERE s.url = ?3))",
                    params![id.0, name, source],
                )?;
                checkpoint.as_ref().map_or(Ok(()), |checkpoint| followed::put_checkpoint(to, *id, checkpoint))
            }
            StateRecord::Setting { name, value } => {
                put("INSERT INTO setting (name, value) VALUES (?1, ?2)", params![name, value])
            }
            StateRecord::Document(document) => followed::put_document(to, document),
            StateRecord::Run { run, source } => self.put_run(run, source.as_deref()),
            StateRecord::Problem { run, problem } => self.put_problem(*run, problem),
            StateRecord::Reached(ReachedPoint { at, reached }) => {
                let at = at.unix_micros();
                put(
                    "INSERT INTO reached (minute, at, datetime) VALUES (?1, ?2, ?3)",
                    params![at.div_euclid(MINUTE), at, reached.unix_micros()],
                )
            }
            StateRecord::Object { key, bytes, dead } => put(
                "INSERT INTO pack (key, bytes, dead) VALUES (?1, ?2, ?3)",
                params![key, bytes.map(u64::cast_signed), dead.cast_signed()],
            ),
            StateRecord::Held { held, name } => {
                let place = (held.uri.as_str(), held.path.as_str(), name.as_deref());
                held::Putting::into(to)?.put(place, (self.next_id, held.sets), &held.metadata)?;
                self.next_id += 1;
                packs::settle(to, held.uri.as_str(), &held.place)?;
                if held.is_racy { held::set_racy(to, held.uri.as_str(), true) } else { Ok(()) }
            }
            StateRecord::Owed { set, owed } => pending::put(to, *set, owed),
            StateRecord::Gone { set, uri, at } => pending::put_gone(to, *set, uri, *at),
            StateRecord::Change(change) => put(
                "INSERT INTO change (sequence, change, uri, path, length, digests, lastmod, datetime)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    change.sequence,
                    change.change.as_str(),
                    change.uri,
                    change.path,
                    change.length.map(u64::cast_signed),
                    codec::digests_to_blob(&change.digests),
                    codec::datetime_text(change.lastmod.as_ref()),
                    codec::datetime_text(change.datetime.as_ref()),
                ],
            ),
            StateRecord::Group(group) => {
                let bytes = operations::to_bytes(group).map_err(row::unwritable)?;
                put(
                    "INSERT INTO intent (version, operations) VALUES (?1, ?2)",
                    params![operations::VERSION, bytes],
                )
            }
        }
    }

    fn put_source(&self, url: &str, way: Option<&str>) -> rusqlite::Result<()> {
        self.transaction.execute("INSERT INTO source (url) VALUES (?1)", [url])?;
        let name = SourceId(self.transaction.last_insert_rowid()).way_record();
        let Some(way) = way else { return Ok(()) };
        self.transaction.execute("INSERT INTO setting (name, value) VALUES (?1, ?2)", [&name, way]).map(drop)
    }

    fn put_run(&self, run: &LoggedRun, source: Option<&str>) -> rusqlite::Result<()> {
        let source = source
            .map(|url| sources::known(self.transaction, url))
            .transpose()?
            .flatten()
            .map(SourceId::number);
        self.transaction
            .prepare_cached(
                "INSERT INTO run (id, started, finished, what, exit_code, summary, source) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                run.id.0,
                run.started.to_string(),
                codec::datetime_text(run.finished.as_ref()),
                run.what,
                run.exit_code,
                run.summary,
                source,
            ])
            .map(drop)
    }

    fn put_problem(&self, run: i64, problem: &LoggedProblem) -> rusqlite::Result<()> {
        let LoggedProblem { kind, count, uri, message } = problem;
        self.transaction
            .prepare_cached(
                "INSERT INTO problem (run, kind, count, uri, message) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![run, kind, count.cast_signed(), uri.as_ref().map(Uri::as_str), message])
            .map(drop)
    }

    /// Sets the next numbers of rows and changes.
    pub(super) fn finish(self, last_change: i64) -> rusqlite::Result<()> {
        let to = self.transaction;
        to.execute("INSERT INTO counter (name, value) VALUES ('next_id', ?1)", [self.next_id])?;
        let is_numbered = to
            .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'change'", [], |_| Ok(()))
            .optional()?
            .is_some();
        let sql = if is_numbered {
            "UPDATE sqlite_sequence SET seq = MAX(seq, ?1) WHERE name = 'change'"
        } else {
            "INSERT INTO sqlite_sequence (name, seq) VALUES ('change', ?1)"
        };
        to.execute(sql, [last_change]).map(drop)
    }
}
