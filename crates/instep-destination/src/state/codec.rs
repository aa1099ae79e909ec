//! Values as the columns of the state have them. Of a column that cannot be read nothing is made up: the error names
//! the file.

use resourcesync::{Algorithm, Change, DateTime, Digest, Digests, Link, MediaType, Uri};
use rusqlite::types::ValueRef;

use super::ResourceMetadata;

/// Returns digests as a column: algorithm, length and bytes of each. Algorithms that cannot be computed here are not
/// kept.
pub(crate) fn digests_to_blob(digests: &Digests) -> Vec<u8> {
    // The usual two: MD5 and SHA-256.
    let mut blob = Vec::with_capacity(2 + 16 + 2 + 32);
    for digest in digests.verifiable() {
        let place = Algorithm::KNOWN.iter().position(|known| *known == digest.algorithm);
        if let (Some(place), Some(bytes)) = (place, digest.bytes()) {
            blob.push(place as u8);
            blob.push(bytes.len() as u8);
            blob.extend_from_slice(bytes);
        }
    }
    blob
}

/// Returns the digests of a column; `None` if it holds anything else. Digests that are lost would make each resource
/// one that cannot be verified.
pub(crate) fn digests_from_blob(mut blob: &[u8]) -> Option<Digests> {
    let mut digests = Digests::new();
    while let [place, length, rest @ ..] = blob {
        let (bytes, rest) = rest.split_at_checked(usize::from(*length))?;
        let algorithm = Algorithm::KNOWN.get(usize::from(*place))?.clone();
        digests.insert(Digest::new(algorithm, bytes)?);
        blob = rest;
    }
    blob.is_empty().then_some(digests)
}

/// Returns the digests in a column of a row.
pub(super) fn digests(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Digests> {
    let damaged = || unreadable(column, std::io::Error::other("these are no digests"));
    digests_from_blob(row.get_ref(column)?.as_blob()?).ok_or_else(damaged)
}

fn links(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Vec<Link>> {
    let damaged = || unreadable(column, std::io::Error::other("these are no links"));
    text(row, column)?.map_or_else(|| Ok(Vec::new()), |text| Link::list_from_json(text).ok_or_else(damaged))
}

pub(super) fn datetime_text(datetime: Option<&DateTime>) -> Option<String> {
    datetime.map(ToString::to_string)
}

/// Returns links as a column; `None` if there are none.
pub(crate) fn links_text(links: &[Link]) -> Option<String> {
    (!links.is_empty()).then(|| Link::list_to_json(links))
}

/// Returns the text of a column; `None` if it is NULL.
pub(super) fn text<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<&'r str>> {
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

pub(super) fn uri(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Uri> {
    Uri::parse(row.get_ref(column)?.as_str()?).map_err(|error| unreadable(column, error))
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

pub(super) fn unreadable(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

pub(super) fn unwritable(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}
