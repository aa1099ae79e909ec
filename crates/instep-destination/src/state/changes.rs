//! Changes of the copy, recorded in the transaction that makes them and kept until a change sink has accepted them.

use resourcesync::Change;
use rusqlite::{Connection, Row, params};

use super::{CopyState, StateError, codec};
use crate::changes::CopyChange;

/// Writes down a change of a held resource, not of a version kept beside it: after its row is there, or before it goes.
pub(super) fn record(connection: &Connection, change: &Change, uri: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO change (change, uri, path, length, digests, lastmod, datetime)
             SELECT ?1, uri, path, length, digests, lastmod, datetime FROM held
             WHERE uri = ?2 AND instr(uri, '#') = 0",
        )?
        .execute(params![change.as_str(), uri])
        .map(|_| ())
}

impl CopyState {
    /// From now on each change of the copy is kept until it is taken.
    pub(crate) fn record_changes(&mut self) {
        self.records_changes = true;
    }

    /// The first changes that nobody has taken yet, in their order.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn changes(&self, limit: usize) -> Result<Vec<CopyChange>, StateError> {
        let page = || {
            self.connection
                .prepare_cached(
                    "SELECT sequence, change, uri, path, length, digests, lastmod, datetime FROM change
                     ORDER BY sequence LIMIT ?1",
                )?
                .query_map([limit as i64], read)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        page().map_err(|source| self.error(source))
    }

    /// Forgets what was taken: every change up to this sequence.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub(crate) fn forget_changes(&mut self, last: i64) -> Result<(), StateError> {
        self.connection
            // Only after the sink took them: a crash in between hands them over once more, and loses none.
            .prepare_cached("DELETE FROM change WHERE sequence <= ?1")
            .and_then(|mut statement| statement.execute([last]))
            .map(|_| ())
            .map_err(|source| self.error(source))
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<CopyChange> {
    Ok(CopyChange {
        sequence: row.get(0)?,
        change: codec::change(row, 1)?,
        uri: row.get(2)?,
        path: row.get(3)?,
        length: row.get::<_, Option<i64>>(4)?.map(i64::cast_unsigned),
        digests: codec::digests(row, 5)?,
        lastmod: codec::datetime(row, 6)?,
        datetime: codec::datetime(row, 7)?,
    })
}
