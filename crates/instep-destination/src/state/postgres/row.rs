//! Reads values from the rows of PostgreSQL. A column that cannot be read is an error, never a default.

use crate::{
    map::CopyPath,
    state::{
        HeldAt, ResourceMetadata,
        codec::{datetime_text, digests_from_blob, digests_to_blob, links_text, place_from_text},
    },
};
use instep_postgres::EngineFault;
use resourcesync::{Change, DateTime, Digests, Link, MediaType, Uri};
use tokio_postgres::Row;

/// Returns the text of a column; `None` if it is NULL.
pub(super) fn text(row: &Row, column: usize) -> Result<Option<&str>, EngineFault> {
    Ok(row.try_get(column)?)
}

pub(super) fn boxed(row: &Row, column: usize) -> Result<Option<Box<str>>, EngineFault> {
    Ok(text(row, column)?.map(Into::into))
}

pub(super) fn digests(row: &Row, column: usize) -> Result<Digests, EngineFault> {
    digests_from_blob(row.try_get(column)?)
        .ok_or_else(|| EngineFault::Value("these are no digests".to_owned()))
}

pub(super) fn datetime(row: &Row, column: usize) -> Result<Option<DateTime>, EngineFault> {
    text(row, column)?.map(DateTime::parse).transpose().map_err(value)
}

pub(super) fn uri(row: &Row, column: usize) -> Result<Uri, EngineFault> {
    Uri::parse_recorded(row.try_get(column)?).map_err(value)
}

pub(super) fn change(row: &Row, column: usize) -> Result<Change, EngineFault> {
    Ok(Change::parse(row.try_get(column)?))
}

pub(super) fn path(row: &Row, column: usize) -> Result<CopyPath, EngineFault> {
    let path: &str = row.try_get(column)?;
    CopyPath::from_state(path).ok_or_else(|| EngineFault::Value(format!("{path:?} is not a path of a copy")))
}

/// Returns the place of the bytes in a column that `held_row.rs` composes.
pub(super) fn place(row: &Row, column: usize) -> Result<HeldAt, EngineFault> {
    let Some(text) = text(row, column)? else { return Ok(HeldAt::Path) };
    place_from_text(text).ok_or_else(|| EngineFault::Value(format!("{text:?} is not a place")))
}

/// Returns a number that was stored as a signed one.
pub(super) fn count(row: &Row, column: usize) -> Result<u64, EngineFault> {
    Ok(row.try_get::<_, i64>(column)?.cast_unsigned())
}

/// Returns the metadata in seven columns: length, digests, lastmod, datetime, etag, media_type, links.
pub(super) fn metadata(row: &Row, first: usize) -> Result<ResourceMetadata, EngineFault> {
    let links = text(row, first + 6)?.map_or_else(|| Some(Vec::new()), Link::list_from_json);
    Ok(ResourceMetadata {
        length: row.try_get::<_, Option<i64>>(first)?.map(i64::cast_unsigned),
        digests: digests(row, first + 1)?,
        lastmod: datetime(row, first + 2)?,
        datetime: datetime(row, first + 3)?,
        etag: boxed(row, first + 4)?,
        media_type: text(row, first + 5)?.map(MediaType::new),
        links: links.ok_or_else(|| EngineFault::Value("these are no links".to_owned()))?,
    })
}

/// Returns the fault of a value that cannot be read or written.
pub(super) fn value(error: impl std::fmt::Display) -> EngineFault {
    EngineFault::Value(error.to_string())
}

/// Returns text that a column can store: messages may have characters that PostgreSQL does not allow in text.
pub(super) fn plain(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Metadata of many resources, a column each, for one statement.
#[derive(Debug, Default)]
pub(super) struct MetadataColumns<'a> {
    pub(super) length: Vec<Option<i64>>,
    pub(super) digests: Vec<Vec<u8>>,
    pub(super) lastmod: Vec<Option<String>>,
    pub(super) datetime: Vec<Option<String>>,
    pub(super) etag: Vec<Option<&'a str>>,
    pub(super) media_type: Vec<Option<&'a str>>,
    pub(super) links: Vec<Option<String>>,
}

impl<'a> MetadataColumns<'a> {
    pub(super) fn of(all: impl IntoIterator<Item = &'a ResourceMetadata>) -> Self {
        let mut columns = Self::default();
        for metadata in all {
            columns.length.push(metadata.length.map(u64::cast_signed));
            columns.digests.push(digests_to_blob(&metadata.digests));
            columns.lastmod.push(datetime_text(metadata.lastmod.as_ref()));
            columns.datetime.push(datetime_text(metadata.datetime.as_ref()));
            columns.etag.push(metadata.etag.as_deref());
            columns.media_type.push(metadata.media_type.as_ref().map(|kind| kind.as_str()));
            columns.links.push(links_text(&metadata.links));
        }
        columns
    }
}
