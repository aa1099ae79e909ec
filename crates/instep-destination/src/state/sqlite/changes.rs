//! Changes of the copy, recorded in the transaction that makes them and kept until a change sink has accepted them.

use resourcesync::Change;
use rusqlite::{Connection, Row, params};

use super::row;
use crate::changes::CopyChange;

/// Records a change of a held resource, but not of a version that is kept beside it. It must run after the row is
/// written, or before it is removed, because it copies its values.
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

/// Returns the first changes, in their order.
pub(super) fn first(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<CopyChange>> {
    connection
        .prepare_cached(
            "SELECT sequence, change, uri, path, length, digests, lastmod, datetime FROM change
             ORDER BY sequence LIMIT ?1",
        )?
        .query_map([limit as i64], read)?
        .collect()
}

/// Reads the change in a row: its sequence, and the columns of the change.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<CopyChange> {
    Ok(CopyChange {
        sequence: row.get(0)?,
        change: row::change(row, 1)?,
        uri: row.get(2)?,
        path: row.get(3)?,
        length: row.get::<_, Option<i64>>(4)?.map(i64::cast_unsigned),
        digests: row::digests(row, 5)?,
        lastmod: row::datetime(row, 6)?,
        datetime: row::datetime(row, 7)?,
    })
}
