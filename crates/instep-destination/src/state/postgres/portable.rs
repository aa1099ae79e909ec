//! Reads a complete state as records, and creates one from them.

mod filling;

use std::ops::ControlFlow;

use instep_postgres::{EngineFault, Session};
use resourcesync::DateTime;
use tokio_postgres::Row;

use super::{
    PostgresState, changes, followed_row, followed_row::set_id, held_row, known::RememberedRows, log,
    pending, row,
};
use crate::{
    records::operations,
    state::{EachRecord, ExportState, ImportFeed, ImportState, ReachedPoint, StateError, StateRecord},
};
use filling::PostgresFilling;

/// A function that reads a record from a row.
type PostgresRowReader = fn(&Row) -> Result<StateRecord, EngineFault>;

/// Returns the statement and the reader of each kind of record.
fn kinds() -> [(String, PostgresRowReader); 13] {
    let plain = str::to_owned;
    let source = "(SELECT s.url FROM source s WHERE s.copy = $1 AND s.id = source)";
    [
        (
            plain(
                "SELECT url, (SELECT w.value FROM setting w WHERE w.copy = $1 AND w.name = 'way ' || source.id)
                 FROM source WHERE copy = $1 ORDER BY id",
            ),
            |row| Ok(StateRecord::Source { url: row.try_get(0)?, way: row.try_get(1)? }),
        ),
        (
            format!(
                "SELECT {}, id, uri, {source} FROM set_of_resources WHERE copy = $1 ORDER BY id",
                followed_row::CHECKPOINT
            ),
            read_set,
        ),
        (
            plain(
                "SELECT name, value FROM setting WHERE copy = $1 AND name NOT LIKE 'way %' ORDER BY name",
            ),
            |row| Ok(StateRecord::Setting { name: row.try_get(0)?, value: row.try_get(1)? }),
        ),
        (format!("SELECT {} FROM document WHERE copy = $1 ORDER BY uri", followed_row::DOCUMENT), |row| {
            followed_row::read_document(row).map(StateRecord::Document)
        }),
        (
            format!(
                "SELECT ROW_NUMBER() OVER (ORDER BY id), started, finished, what, exit_code, summary, {source}
                 FROM run WHERE copy = $1 ORDER BY id"
            ),
            |row| Ok(StateRecord::Run { run: log::read_run(row)?, source: row.try_get(6)? }),
        ),
        (
            plain(
                "SELECT kind, count, uri, message,
                 (SELECT COUNT(*) FROM run r WHERE r.copy = $1 AND r.id <= problem.run)
                 FROM problem WHERE copy = $1 ORDER BY run, kind",
            ),
            |row| Ok(StateRecord::Problem { problem: log::read_problem(row)?, run: row.try_get(4)? }),
        ),
        (plain("SELECT at, datetime FROM reached WHERE copy = $1 ORDER BY minute"), |row| {
            let time = |column| row.try_get(column).map(DateTime::from_unix_micros);
            Ok(StateRecord::Reached(ReachedPoint { at: time(0)?, reached: time(1)? }))
        }),
        (plain("SELECT key, bytes, dead FROM pack WHERE copy = $1 ORDER BY id"), |row| {
            let bytes = row.try_get::<_, Option<i64>>(1)?.map(i64::cast_unsigned);
            Ok(StateRecord::Object { key: row.try_get::<_, &str>(0)?.into(), bytes, dead: row::count(row, 2)? })
        }),
        (format!("SELECT {}, name FROM held WHERE copy = $1 ORDER BY uri", held_row::COLUMNS), |row| {
            Ok(StateRecord::Held { held: held_row::read(row)?, name: row.try_get("name")? })
        }),
        (
            format!("SELECT {}, set_id FROM owed WHERE copy = $1 ORDER BY set_id, uri", pending::COLUMNS),
            |row| Ok(StateRecord::Owed { owed: pending::read(row)?, set: set_id(row, 12)? }),
        ),
        (plain("SELECT set_id, uri, micros FROM gone WHERE copy = $1 ORDER BY set_id, uri"), |row| {
            let at = DateTime::from_unix_micros(row.try_get(2)?);
            Ok(StateRecord::Gone { set: set_id(row, 0)?, uri: row::uri(row, 1)?, at })
        }),
        (
            plain(
                "SELECT sequence, change, uri, path, length, digests, lastmod, datetime FROM change
                 WHERE copy = $1 ORDER BY sequence",
            ),
            |row| changes::read(row).map(StateRecord::Change),
        ),
        (plain("SELECT version, operations FROM intent WHERE copy = $1 ORDER BY id"), |row| {
            let version = u32::try_from(row.try_get::<_, i64>(0)?).map_err(row::value)?;
            operations::from_bytes(version, row.try_get(1)?).map(StateRecord::Group).map_err(row::value)
        }),
    ]
}

fn read_set(from: &Row) -> Result<StateRecord, EngineFault> {
    let checkpoint = followed_row::read_checkpoint(from)?;
    let is_known =
        checkpoint.datetime.is_some() || checkpoint.last.is_some() || checkpoint.document.is_some();
    Ok(StateRecord::Set {
        id: set_id(from, 8)?,
        name: from.try_get(9)?,
        source: from.try_get(10)?,
        checkpoint: is_known.then_some(checkpoint),
    })
}

fn read_all(session: &Session, copy: i64, each: &mut EachRecord<'_>) -> Result<ControlFlow<()>, EngineFault> {
    for (sql, read) in kinds() {
        let mut flow = ControlFlow::Continue(());
        session.stream(&sql, &[&copy], &mut |row| {
            flow = each(read(row)?);
            Ok(flow.is_continue())
        })?;
        if flow.is_break() {
            return Ok(flow);
        }
    }
    Ok(ControlFlow::Continue(()))
}

impl ExportState for PostgresState {
    fn last_change(&self) -> Result<i64, StateError> {
        // All copies of the database share the sequence of numbers.
        let sql = "SELECT COALESCE(pg_sequence_last_value(pg_get_serial_sequence('change', 'sequence')::regclass), 0)";
        self.read(|session| Ok(session.one(sql, &[])?.try_get(0)?))
    }

    fn export(&self, each: &mut EachRecord<'_>) -> Result<ControlFlow<()>, StateError> {
        // On a separate connection, whose transaction sees the present state regardless of later commits of a run.
        let session = Session::open(&self.link.address)?;
        let mut read = || {
            session.begin_moment()?;
            read_all(&session, self.copy, each)
        };
        Ok(read().map_err(|fault| self.link.error(fault))?)
    }
}

impl ImportState for PostgresState {
    fn import(&mut self, feed: &mut dyn ImportFeed) -> Result<ControlFlow<()>, StateError> {
        let copy = self.copy;
        let mut has_broken = false;
        let imported = self.write_once(|session| {
            has_broken = fill(session, copy, feed)?.is_break();
            // A transaction is rolled back only if its work fails.
            if has_broken { Err(EngineFault::Value("the records ended".to_owned())) } else { Ok(()) }
        });
        self.known.iter().for_each(RememberedRows::forget);
        match imported {
            Err(_) if has_broken => Ok(ControlFlow::Break(())),
            imported => imported.map(ControlFlow::Continue),
        }
    }
}

fn fill(session: &Session, copy: i64, feed: &mut dyn ImportFeed) -> Result<ControlFlow<()>, EngineFault> {
    // The file may be a pipe, and nobody else needs a state that is empty until this is committed.
    session.allow_pauses()?;
    let mut filling = PostgresFilling::of(session, copy);
    loop {
        match feed.next() {
            ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
            ControlFlow::Continue(records) if records.is_empty() => break,
            ControlFlow::Continue(records) => filling.put(&records)?,
        }
    }
    filling.finish(feed.last_change())?;
    Ok(match read_all(session, copy, &mut |record| feed.read_back(record))? {
        ControlFlow::Continue(()) => feed.is_right(),
        broken => broken,
    })
}
