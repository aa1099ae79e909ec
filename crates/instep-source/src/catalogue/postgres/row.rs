//! Values of columns in PostgreSQL.

use std::{ffi::OsString, os::unix::ffi::OsStringExt as _};

use instep_postgres::EngineFault;
use resourcesync::{ChangeFreq, DateTime, Digests, Link, MediaType, Uri};
use tokio_postgres::{Row, types::ToSql};

use crate::catalogue::{
    ChangeRecord, FileStamp, Head, History, Resource, ResourceState,
    codec::{SharedTypes, read_change_kind, read_digests, write_digests},
};

/// Reads a number that is never negative.
pub(super) fn count(row: &Row, column: usize) -> Result<u64, EngineFault> {
    Ok(row.try_get::<_, i64>(column)?.cast_unsigned())
}

/// Returns the error for a value that no version of instep writes.
pub(super) fn damaged(what: &str, uri: &str) -> EngineFault {
    EngineFault::Value(format!("{what} of {uri}"))
}

/// Reads the position of the catalogue from the columns sequence, datetime, forgotten, revision and baselined.
pub(super) fn read_head(row: &Row) -> Result<Head, EngineFault> {
    Ok(Head {
        sequence: count(row, 0)?,
        datetime: row.try_get::<_, Option<i64>>(1)?.map(DateTime::from_unix_micros),
        forgotten: count(row, 2)?,
        revision: count(row, 3)?,
        baselined: count(row, 4)?,
    })
}

fn read_uri(row: &Row, column: usize) -> Result<Uri, EngineFault> {
    let text: &str = row.try_get(column)?;
    Uri::parse_recorded(text).map_err(|_| damaged("uri", text))
}

/// Reads digests; NULL means none.
fn digests(row: &Row, column: usize, what: &str, uri: &Uri) -> Result<Digests, EngineFault> {
    match row.try_get::<_, Option<&[u8]>>(column)? {
        Some(bytes) => read_digests(bytes).ok_or_else(|| damaged(what, uri.as_str())),
        None => Ok(Digests::new()),
    }
}

/// Reads a state from the columns that begin with `first`.
pub(super) fn read_state(
    row: &Row,
    first: usize,
    uri: &Uri,
    types: &mut SharedTypes,
) -> Result<ResourceState, EngineFault> {
    let text = |offset: usize| row.try_get::<_, Option<&str>>(first + offset);
    let damaged = |what| damaged(what, uri.as_str());
    Ok(ResourceState {
        lastmod: text(0)?.map(DateTime::parse).transpose().map_err(|_| damaged("lastmod"))?,
        length: row.try_get::<_, Option<i64>>(first + 1)?.map(i64::cast_unsigned),
        digests: digests(row, first + 2, "digests", uri)?,
        media_type: text(3)?.map(|name| types.of(name)),
        encoding: text(4)?.map(Into::into),
        changefreq: text(5)?.and_then(ChangeFreq::parse),
        links: match text(6)? {
            Some(json) => Link::list_from_json(json).ok_or_else(|| damaged("links"))?,
            None => Vec::new(),
        },
    })
}

/// Reads a stamp from four columns.
pub(super) fn read_stamp(row: &Row, first: usize) -> Result<Option<FileStamp>, EngineFault> {
    let Some(length) = row.try_get::<_, Option<i64>>(first)? else { return Ok(None) };
    Ok(Some(FileStamp {
        length: length.cast_unsigned(),
        mtime_ns: row.try_get(first + 1)?,
        ctime_ns: row.try_get(first + 2)?,
        inode: count(row, first + 3)?,
    }))
}

/// Reads a resource from the columns of `resource_columns!`.
pub(super) fn read_resource(row: &Row, types: &mut SharedTypes) -> Result<Resource, EngineFault> {
    let uri = read_uri(row, 7)?;
    Ok(Resource {
        key: row.try_get(0)?,
        state: read_state(row, 8, &uri, types)?,
        stamp: read_stamp(row, 1)?,
        rehash: row.try_get(5)?,
        sets: count(row, 6)?,
        history: History {
            since: Some(DateTime::from_unix_micros(row.try_get(16)?)),
            changes: count(row, 17)?,
        },
        file: row.try_get::<_, Option<Vec<u8>>>(15)?.map(|path| OsString::from_vec(path).into()),
        uri,
    })
}

/// Reads an entry of the change log from the columns of `change_columns!`.
pub(super) fn read_change(row: &Row, types: &mut SharedTypes) -> Result<ChangeRecord, EngineFault> {
    let uri = read_uri(row, 4)?;
    let damaged = |what| damaged(what, uri.as_str());
    let patch = row.try_get::<_, Option<&str>>(13)?;
    Ok(ChangeRecord {
        sequence: count(row, 0)?,
        datetime: DateTime::from_unix_micros(row.try_get(1)?),
        change: read_change_kind(row.try_get(2)?).ok_or_else(|| damaged("kind"))?,
        sets: count(row, 3)?,
        state: read_state(row, 5, &uri, types)?,
        before: digests(row, 12, "before", &uri)?,
        patch: patch.map(serde_json::from_str).transpose().map_err(|_| damaged("patch"))?,
        uri,
    })
}

/// The states of many rows as one array per column, for one statement.
#[derive(Debug, Default)]
pub(super) struct StateArrays<'a> {
    lastmod: Vec<Option<String>>,
    length: Vec<Option<i64>>,
    digests: Vec<Option<Vec<u8>>>,
    media_type: Vec<Option<&'a str>>,
    encoding: Vec<Option<&'a str>>,
    changefreq: Vec<Option<&'static str>>,
    links: Vec<Option<String>>,
}

impl<'a> StateArrays<'a> {
    pub(super) fn of(states: impl IntoIterator<Item = &'a ResourceState>) -> Self {
        let mut columns = Self::default();
        for state in states {
            columns.lastmod.push(state.lastmod.as_ref().map(ToString::to_string));
            columns.length.push(state.length.map(u64::cast_signed));
            columns.digests.push((!state.digests.is_empty()).then(|| write_digests(&state.digests)));
            columns.media_type.push(state.media_type.as_ref().map(MediaType::as_str));
            columns.encoding.push(state.encoding.as_deref());
            columns.changefreq.push(state.changefreq.map(ChangeFreq::as_str));
            columns.links.push((!state.links.is_empty()).then(|| Link::list_to_json(&state.links)));
        }
        columns
    }

    /// Returns the values of a statement that has these columns between others.
    pub(super) fn between<'r>(
        &'r self,
        before: &[&'r (dyn ToSql + Sync)],
        after: &[&'r (dyn ToSql + Sync)],
    ) -> Vec<&'r (dyn ToSql + Sync)> {
        let own: [&'r (dyn ToSql + Sync); 7] = [
            &self.lastmod,
            &self.length,
            &self.digests,
            &self.media_type,
            &self.encoding,
            &self.changefreq,
            &self.links,
        ];
        before.iter().chain(&own).chain(after).copied().collect()
    }
}
