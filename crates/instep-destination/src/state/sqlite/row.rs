//! Reads values from the rows of SQLite. A column that cannot be read is an error that names the file, never a default.

use resourcesync::{Change, DateTime, Digests, Link, MediaType, Uri};
use rusqlite::types::ValueRef;

use crate::state::{ResourceMetadata, codec::digests_from_blob};

/// Returns the digests in a column of a row.
pub(super) fn digests(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Digests> {
    let damaged = || unreadable(column, std::io::Error::other("these are no digests"));
    digests_from_blob(row.get_ref(column)?.as_blob()?).ok_or_else(damaged)
}

fn links(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Vec<Link>> {
    let damaged = || unreadable(column, std::io::Error::other("these are no links"));
    text(row, column)?.map_or_else(|| Ok(Vec::new()), |text| Link::list_from_json(text).ok_or_else(damaged))
}

/// Returns the text of a column; `None` if it is NULL.
pub(in crate::state) fn text<'r>(
    row: &'r rusqlite::Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<&'r str>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => Ok(Some(value.as_str()?)),
    }
}

pub(super) fn boxed(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<Box<str>>> {
    Ok(text(row, column)?.map(Into::into))
}

pub(super) fn datetime(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<DateTime>> {
    text(row, column)?
        .map(|text| DateTime::parse(text).map_err(|error| unreadable(column, error)))
        .transpose()
}

pub(in crate::state) fn uri(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Uri> {
    Uri::parse_recorded(row.get_ref(column)?.as_str()?).map_err(|error| unreadable(column, error))
}

pub(super) fn change(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Change> {
    Ok(Change::parse(row.get_ref(column)?.as_str()?))
}

/// Returns the metadata in seven columns: length, digests, lastmod, datetime, etag, media_type, links.
pub(super) fn metadata(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<ResourceMetadata> {
    Ok(ResourceMetadata {
        length: row.get::<_, Option<i64>>(first)?.map(i64::cast_unsigned),
        digests: digests(row, first + 1)?,
        lastmod: datetime(row, first + 2)?,
        datetime: datetime(row, first + 3)?,
        etag: boxed(row, first + 4)?,
        media_type: text(row, first + 5)?.map(MediaType::new),
        links: links(row, first + 6)?,
    })
}

pub(in crate::state) fn unreadable(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

pub(in crate::state) fn unwritable(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}
