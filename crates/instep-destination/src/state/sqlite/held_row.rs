//! A row of a held resource.

use resourcesync::Uri;
use rusqlite::{Connection, Row};

use super::{packs, row};
use crate::{map::CopyPath, state::HeldResource};

/// The place of the bytes as one column, NULL unless they are in objects, so that rows of a copy in a folder cost no
/// lookup.
macro_rules! place {
    () => {
        "CASE WHEN pack IS NOT NULL THEN
         \"offset\" || ' ' || packed || ' ' || (SELECT p.key FROM pack AS p WHERE p.id = held.pack) END"
    };
}

pub(super) use place;

/// The columns of [`read`], after the URI.
pub(super) const COLUMNS: &str = concat!(
    "uri, id, sets, length, digests, lastmod, datetime, etag, media_type, links, path, racy, ",
    place!()
);

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<HeldResource> {
    read_with(row, row::uri(row, 0)?)
}

pub(super) fn read_with(row: &Row<'_>, uri: Uri) -> rusqlite::Result<HeldResource> {
    Ok(HeldResource {
        uri,
        id: row.get(1)?,
        sets: row.get(2)?,
        metadata: row::metadata(row, 3)?,
        path: path(row, 10)?,
        place: packs::place(row, 12)?,
        is_racy: row.get(11)?,
    })
}

pub(super) fn path(row: &Row<'_>, column: usize) -> rusqlite::Result<CopyPath> {
    let path = row.get_ref(column)?.as_str()?;
    let outside =
        || row::unreadable(column, std::io::Error::other(format!("{path:?} is not a path of a copy")));
    CopyPath::from_state(path).ok_or_else(outside)
}

/// Returns the number that the next row gets.
pub(super) fn next_id(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row(
        "SELECT COALESCE((SELECT value FROM counter WHERE name = 'next_id'), 1)",
        [],
        |row| row.get(0),
    )
}
