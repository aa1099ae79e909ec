//! Reads a complete file as records, and creates one from them.

mod filling;

use std::ops::ControlFlow;

use resourcesync::DateTime;
use rusqlite::{Connection, Row};

use super::{SqliteState, changes, followed, held_row, log, pending, row};
use crate::{
    records::operations,
    state::{EachRecord, ExportState, ImportFeed, ImportState, ReachedPoint, SetId, StateError, StateRecord},
};
use filling::SqliteFilling;

/// A function that reads a record from a row.
type SqliteRowReader = fn(&Row<'_>) -> rusqlite::Result<StateRecord>;

/// Returns the statement and the reader of each kind of record.
fn kinds() -> [(String, SqliteRowReader); 13] {
    let plain = str::to_owned;
    let source = "(SELECT s.url FROM source AS s WHERE s.id = source)";
    [
        (
            plain(
                "SELECT url, (SELECT value FROM setting WHERE name = 'way ' || source.id) FROM source ORDER BY id",
            ),
            |row| Ok(StateRecord::Source { url: row.get(0)?, way: row.get(1)? }),
        ),
        (
            format!("SELECT {}, id, uri, {source} FROM set_of_resources ORDER BY id", followed::CHECKPOINT),
            read_set,
        ),
        (plain("SELECT name, value FROM setting WHERE name NOT LIKE 'way %' ORDER BY name"), |row| {
            Ok(StateRecord::Setting { name: row.get(0)?, value: row.get(1)? })
        }),
        (format!("SELECT {} FROM document ORDER BY uri", followed::DOCUMENT), |row| {
            followed::read_document(row).map(StateRecord::Document)
        }),
        (
            format!(
                "SELECT ROW_NUMBER() OVER (ORDER BY id), started, finished, what, exit_code, summary, {source}
                 FROM run ORDER BY id"
            ),
            |row| Ok(StateRecord::Run { run: log::read_run(row)?, source: row.get(6)? }),
        ),
        (
            plain(
                "SELECT kind, count, uri, message, (SELECT COUNT(*) FROM run AS r WHERE r.id <= problem.run)
                 FROM problem ORDER BY run, kind",
            ),
            |row| Ok(StateRecord::Problem { problem: log::read_problem(row)?, run: row.get(4)? }),
        ),
        (plain("SELECT at, datetime FROM reached ORDER BY minute"), |row| {
            let time = |column| row.get(column).map(DateTime::from_unix_micros);
            Ok(StateRecord::Reached(ReachedPoint { at: time(0)?, reached: time(1)? }))
        }),
        (plain("SELECT key, bytes, dead FROM pack ORDER BY id"), |row| {
            let bytes = row.get::<_, Option<i64>>(1)?.map(i64::cast_unsigned);
            let dead = row.get::<_, i64>(2)?.cast_unsigned();
            Ok(StateRecord::Object { key: row.get(0)?, bytes, dead })
        }),
        (format!("SELECT {}, name FROM held ORDER BY uri", held_row::COLUMNS), |row| {
            Ok(StateRecord::Held { held: held_row::read(row)?, name: row.get("name")? })
        }),
        (format!("SELECT {}, set_id FROM owed ORDER BY set_id, uri", pending::COLUMNS), |row| {
            Ok(StateRecord::Owed { owed: pending::read(row)?, set: SetId(row.get("set_id")?) })
        }),
        (plain("SELECT set_id, uri, micros FROM gone ORDER BY set_id, uri"), |row| {
            let at = DateTime::from_unix_micros(row.get(2)?);
            Ok(StateRecord::Gone { set: SetId(row.get(0)?), uri: row::uri(row, 1)?, at })
        }),
        (
            plain(
                "SELECT sequence, change, uri, path, length, digests, lastmod, datetime FROM change ORDER BY sequence",
            ),
            |row| changes::read(row).map(StateRecord::Change),
        ),
        (plain("SELECT version, operations FROM intent ORDER BY id"), |row| {
            let operations = operations::from_bytes(row.get(0)?, row.get_ref(1)?.as_bytes()?);
            operations.map(StateRecord::Group).map_err(|error| row::unreadable(1, error))
        }),
    ]
}

fn read_set(row: &Row<'_>) -> rusqlite::Result<StateRecord> {
    let checkpoint = followed::read_checkpoint(row)?;
    let is_known =
        checkpoint.datetime.is_some() || checkpoint.last.is_some() || checkpoint.document.is_some();
    Ok(StateRecord::Set {
        id: SetId(row.get(8)?),
        name: row.get(9)?,
        source: row.get(10)?,
        checkpoint: is_known.then_some(checkpoint),
    })
}

fn read_all(connection: &Connection, each: &mut EachRecord<'_>) -> rusqlite::Result<ControlFlow<()>> {
    for (sql, read) in kinds() {
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if each(read(row)?).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

impl ExportState for SqliteState {
    fn last_change(&self) -> Result<i64, StateError> {
        let last = self.connection.query_row(
            "SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'change'), 0)",
            [],
            |row| row.get(0),
        );
        last.map_err(|source| self.error(source))
    }

    fn export(&self, each: &mut EachRecord<'_>) -> Result<ControlFlow<()>, StateError> {
        let mut read = || {
            // A read transaction sees the present state of the file, regardless of later commits of a run.
            let _moment = self.connection.unchecked_transaction()?;
            read_all(&self.connection, each)
        };
        read().map_err(|source| self.error(source))
    }
}

impl ImportState for SqliteState {
    fn import(&mut self, feed: &mut dyn ImportFeed) -> Result<ControlFlow<()>, StateError> {
        let path = &self.path;
        let mut import = || {
            let transaction = self.connection.transaction()?;
            let mut filling = SqliteFilling::of(&transaction);
            loop {
                match feed.next() {
                    ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
                    ControlFlow::Continue(records) if records.is_empty() => break,
                    ControlFlow::Continue(records) => {
                        records.iter().try_for_each(|record| filling.put(record))?;
                    }
                }
            }
            filling.finish(feed.last_change())?;
            let right = read_all(&transaction, &mut |record| feed.read_back(record))?;
            if right.is_break() || feed.is_right().is_break() {
                return Ok(ControlFlow::Break(()));
            }
            transaction.commit()?;
            Ok(ControlFlow::Continue(()))
        };
        import().map_err(|source| StateError::sqlite(path, source))
    }
}
