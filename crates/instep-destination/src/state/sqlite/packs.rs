//! Objects in object storage that have the bytes of resources, and the bytes in them that no resource has any more.

use rusqlite::{Connection, Row, params};

use super::row;
use crate::state::HeldAt;

/// Returns the place of the bytes in a column that the state made: offset, length and key.
pub(super) fn place(from: &Row<'_>, column: usize) -> rusqlite::Result<HeldAt> {
    let Some(text) = row::text(from, column)? else { return Ok(HeldAt::Path) };
    let mut parts = text.splitn(3, ' ');
    let mut number = || parts.next()?.parse().ok();
    match (number(), number(), parts.next()) {
        (Some(offset), Some(length), Some(key)) => Ok(HeldAt::Object { key: key.into(), offset, length }),
        _ => Err(row::unreadable(column, std::io::Error::other(format!("{text:?} is no place")))),
    }
}

/// Notes that the bytes of a resource, if it is held, are wanted no more: another version takes their place, or none.
pub(super) fn leave(connection: &Connection, uri: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE pack SET dead = dead + held.packed FROM held WHERE held.uri = ?1 AND pack.id = held.pack",
        )?
        .execute([uri])?;
    Ok(())
}

/// Gives a row the place of its bytes.
pub(super) fn settle(connection: &Connection, uri: &str, place: &HeldAt) -> rusqlite::Result<()> {
    let HeldAt::Object { key, offset, length } = place else { return Ok(()) };
    connection
        .prepare_cached(
            "UPDATE held SET pack = (SELECT p.id FROM pack AS p WHERE p.key = ?2), \"offset\" = ?3, packed = ?4 WHERE uri = ?1",
        )?
        .execute(params![uri, key, offset.cast_signed(), length.cast_signed()])?;
    Ok(())
}

/// Gives a row of another state the place that it has in the first one.
pub(super) fn copy(connection: &Connection, uri: &str, place: &HeldAt) -> rusqlite::Result<()> {
    let HeldAt::Object { key, .. } = place else { return Ok(()) };
    connection.prepare_cached("INSERT OR IGNORE INTO pack (key) VALUES (?1)")?.execute([key])?;
    settle(connection, uri, place)
}
