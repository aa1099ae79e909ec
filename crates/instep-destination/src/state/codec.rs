//! Values as SQLite has them.

use resourcesync::{Algorithm, Change, DateTime, Digest, Digests, Link, MediaType, Uri};
use rusqlite::types::ValueRef;

use super::Facts;

/// Algorithm, length, bytes; one after the other. Algorithms that cannot be computed here are not kept.
pub(super) fn digests_to_blob(digests: &Digests) -> Vec<u8> {
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

pub(super) fn digests_from_blob(mut blob: &[u8]) -> Digests {
    let mut digests = Digests::new();
    while let [place, length, rest @ ..] = blob {
        let Some((bytes, rest)) = rest.split_at_checked(usize::from(*length)) else { break };
        let algorithm = Algorithm::KNOWN.get(usize::from(*place)).cloned();
        if let Some(digest) = algorithm.and_then(|algorithm| Digest::new(algorithm, bytes)) {
            digests.insert(digest);
        }
        blob = rest;
    }
    digests
}

pub(super) fn datetime_text(datetime: Option<&DateTime>) -> Option<String> {
    datetime.map(ToString::to_string)
}

/// None for no links.
pub(super) fn links_text(links: &[Link]) -> Option<String> {
    (!links.is_empty()).then(|| Link::list_to_json(links))
}

/// A column's text; none for NULL.
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

/// Seven columns: length, digests, lastmod, datetime, etag, media_type, links.
pub(super) fn facts(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Facts> {
    Ok(Facts {
        length: row.get::<_, Option<i64>>(first)?.map(i64::cast_unsigned),
        digests: digests_from_blob(row.get_ref(first + 1)?.as_blob()?),
        lastmod: datetime(row, first + 2)?,
        datetime: datetime(row, first + 3)?,
        etag: boxed(row, first + 4)?,
        media_type: text(row, first + 5)?.map(MediaType::new),
        links: text(row, first + 6)?.and_then(Link::list_from_json).unwrap_or_default(),
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
