//! Values of columns in SQLite.

use std::{ffi::OsString, os::unix::ffi::OsStringExt};

use resourcesync::{ChangeFreq, DateTime, Digests, Link, MediaType, Uri, value::Precision};
use rusqlite::{
    Connection, Params, Row, ToSql, params_from_iter,
    types::{ToSqlOutput, Value, ValueRef},
};

use crate::catalogue::{
    CatalogueError, ChangeRecord, FileStamp, Head, History, Resource, ResourceState,
    codec::{SharedTypes, read_change_kind, read_digests, write_digests},
    error::Doing,
};

const READING: &str = "reading a row";

/// The columns of a [`ResourceState`], as parameters.
pub(super) struct StateColumns<'a> {
    lastmod: Option<ToSqlOutput<'a>>,
    length: Option<i64>,
    digests: Option<Vec<u8>>,
    media_type: Option<&'a str>,
    encoding: Option<&'a str>,
    changefreq: Option<&'a str>,
    links: Option<String>,
}

impl<'a> StateColumns<'a> {
    pub(super) fn new(state: &'a ResourceState) -> Self {
        Self {
            lastmod: state.lastmod.as_ref().map(write_datetime),
            length: state.length.map(|length| length as i64),
            digests: (!state.digests.is_empty()).then(|| write_digests(&state.digests)),
            media_type: state.media_type.as_ref().map(MediaType::as_str),
            encoding: state.encoding.as_deref(),
            changefreq: state.changefreq.map(ChangeFreq::as_str),
            links: (!state.links.is_empty()).then(|| Link::list_to_json(&state.links)),
        }
    }

    /// Returns the parameters of a row that has these columns between others.
    pub(super) fn between<'r>(
        &'r self,
        before: &'r [&'r dyn ToSql],
        after: &'r [&'r dyn ToSql],
    ) -> impl Params {
        let own: [&'r dyn ToSql; 7] = [
            &self.lastmod,
            &self.length,
            &self.digests,
            &self.media_type,
            &self.encoding,
            &self.changefreq,
            &self.links,
        ];
        params_from_iter(before.iter().copied().chain(own).chain(after.iter().copied()))
    }
}

/// Reads a state from the columns that begin with `first`.
pub(super) fn read_state(
    row: &Row<'_>,
    first: usize,
    uri: &Uri,
    types: &mut SharedTypes,
) -> Result<ResourceState, CatalogueError> {
    let damaged = |what| move || CatalogueError::Damaged { what, uri: uri.as_str().to_owned() };
    let column = |offset: usize| row.get_ref(first + offset).doing(READING);
    Ok(ResourceState {
        lastmod: read_datetime(column(0)?).map_err(|()| damaged("lastmod")())?,
        length: row.get::<_, Option<i64>>(first + 1).doing(READING)?.map(|length| length as u64),
        digests: match column(2)? {
            ValueRef::Blob(bytes) => read_digests(bytes).ok_or_else(damaged("digests"))?,
            _ => Digests::new(),
        },
        media_type: text(column(3)?).map(|name| types.of(name)),
        encoding: text(column(4)?).map(Into::into),
        changefreq: text(column(5)?).and_then(ChangeFreq::parse),
        links: match text(column(6)?) {
            Some(json) => Link::list_from_json(json).ok_or_else(damaged("links"))?,
            None => Vec::new(),
        },
    })
}

/// Reads a resource from the columns of `resource_columns!`.
pub(super) fn read_resource(row: &Row<'_>, types: &mut SharedTypes) -> Result<Resource, CatalogueError> {
    let uri = read_uri(row, 7)?;
    Ok(Resource {
        key: row.get(0).doing(READING)?,
        state: read_state(row, 8, &uri, types)?,
        stamp: read_stamp(row).doing(READING)?,
        rehash: row.get(5).doing(READING)?,
        sets: row.get::<_, i64>(6).doing(READING)? as u64,
        history: History {
            since: Some(DateTime::from_unix_micros(row.get(16).doing(READING)?)),
            changes: row.get::<_, i64>(17).doing(READING)? as u64,
        },
        file: row.get::<_, Option<Vec<u8>>>(15).doing(READING)?.map(|path| OsString::from_vec(path).into()),
        uri,
    })
}

/// Reads an entry of the change log from the columns of `change_columns!`.
pub(super) fn read_change(row: &Row<'_>, types: &mut SharedTypes) -> Result<ChangeRecord, CatalogueError> {
    let uri = read_uri(row, 4)?;
    let damaged = |what| CatalogueError::Damaged { what, uri: uri.as_str().to_owned() };
    Ok(ChangeRecord {
        sequence: row.get::<_, i64>(0).doing(READING)? as u64,
        datetime: DateTime::from_unix_micros(row.get(1).doing(READING)?),
        change: read_change_kind(row.get(2).doing(READING)?).ok_or_else(|| damaged("kind"))?,
        sets: row.get::<_, i64>(3).doing(READING)? as u64,
        state: read_state(row, 5, &uri, types)?,
        before: match row.get_ref(12).doing(READING)? {
            ValueRef::Blob(bytes) => read_digests(bytes).ok_or_else(|| damaged("before"))?,
            _ => Digests::new(),
        },
        patch: match text(row.get_ref(13).doing(READING)?) {
            Some(json) => Some(serde_json::from_str(json).map_err(|_| damaged("patch"))?),
            None => None,
        },
        uri,
    })
}

/// Reads the position of the catalogue in the view of this connection.
pub(super) fn read_head(connection: &Connection) -> Result<Head, CatalogueError> {
    connection
        .prepare_cached("SELECT sequence, datetime, forgotten, revision, baselined FROM head")
        .and_then(|mut statement| {
            statement.query_row([], |row| {
                Ok(Head {
                    sequence: row.get::<_, i64>(0)? as u64,
                    datetime: row.get::<_, Option<i64>>(1)?.map(DateTime::from_unix_micros),
                    forgotten: row.get::<_, i64>(2)? as u64,
                    revision: row.get::<_, i64>(3)? as u64,
                    baselined: row.get::<_, i64>(4)? as u64,
                })
            })
        })
        .doing("reading the head")
}

/// Reads the last datetime that was assigned in the view of this connection.
pub(super) fn read_clock(connection: &Connection) -> Result<i64, CatalogueError> {
    connection.query_row("SELECT clock FROM head", [], |row| row.get(0)).doing("reading the head")
}

fn read_uri(row: &Row<'_>, column: usize) -> Result<Uri, CatalogueError> {
    let text = row.get_ref(column).doing(READING)?.as_str().unwrap_or_default();
    Uri::parse_recorded(text).map_err(|_| CatalogueError::Damaged { what: "uri", uri: text.to_owned() })
}

/// Reads a stamp from the second column on.
pub(super) fn read_stamp(row: &Row<'_>) -> rusqlite::Result<Option<FileStamp>> {
    let Some(length) = row.get::<_, Option<i64>>(1)? else { return Ok(None) };
    Ok(Some(FileStamp {
        length: length as u64,
        mtime_ns: row.get(2)?,
        ctime_ns: row.get(3)?,
        inode: row.get::<_, i64>(4)? as u64,
    }))
}

fn text(value: ValueRef<'_>) -> Option<&str> {
    value.as_str_or_null().ok().flatten()
}

/// Writes a datetime: as a number of microseconds if it has the form that the Source writes, otherwise as text.
fn write_datetime(datetime: &DateTime) -> ToSqlOutput<'static> {
    let own = datetime.precision() == Precision::Fraction(6) && datetime.offset_minutes() == 0;
    ToSqlOutput::Owned(if own {
        Value::Integer(datetime.unix_micros())
    } else {
        Value::Text(datetime.to_string())
    })
}

fn read_datetime(value: ValueRef<'_>) -> Result<Option<DateTime>, ()> {
    match value {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(micros) => Ok(Some(DateTime::from_unix_micros(micros))),
        other => DateTime::parse(other.as_str().map_err(drop)?).map(Some).map_err(drop),
    }
}
