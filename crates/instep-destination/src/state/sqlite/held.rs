//! The held resources, which have one row each. `held_row.rs` reads a row.

use std::collections::VecDeque;

use resourcesync::{Link, Uri};
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Row, params};

use super::{
    SqliteState,
    held_row::{COLUMNS, next_id, path, place, read},
    meet, packs, row,
};
use crate::{
    map::CopyPath,
    plan::Desired,
    state::{
        HeldFile, HeldResource, Meet, Meeting, ReadHeld, ResourceMetadata, RowSet, SetId, StateError, codec,
    },
};

impl ReadHeld for SqliteState {
    fn held(&self, uri: &str) -> Result<Option<HeldResource>, StateError> {
        let find = || {
            self.connection
                .prepare_cached(&format!("SELECT {COLUMNS} FROM held WHERE uri = ?1"))?
                .query_row([uri], read)
                .optional()
        };
        find().map_err(|source| self.error(source))
    }

    fn held_after(&self, after: Option<&str>, limit: usize) -> Result<Vec<HeldResource>, StateError> {
        let page = || {
            self.connection
                .prepare_cached(&format!("SELECT {COLUMNS} FROM held WHERE uri > ?1 ORDER BY uri LIMIT ?2"))?
                .query_map((after.unwrap_or_default(), limit as i64), read)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        page().map_err(|source| self.error(source))
    }

    fn files_after(&self, after: &str, limit: usize) -> Result<VecDeque<HeldFile>, StateError> {
        let read = |row: &Row<'_>| {
            Ok(HeldFile {
                uri: row.get_ref(0)?.as_str()?.into(),
                path: path(row, 1)?,
                place: packs::place(row, 5)?,
                length: row.get::<_, Option<i64>>(2)?.map(i64::cast_unsigned),
                digests: row::digests(row, 3)?,
                id: row.get(4)?,
            })
        };
        // Only these columns are read, because an audit reads every row.
        let sql = concat!(
            "SELECT uri, path, length, digests, id, ",
            place!(),
            " FROM held WHERE uri > ?1 ORDER BY uri LIMIT ?2"
        );
        let page = || {
            self.connection
                .prepare_cached(sql)?
                .query_map((after, limit as i64), read)?
                .collect::<rusqlite::Result<VecDeque<_>>>()
        };
        page().map_err(|source| self.error(source))
    }

    fn held_like(&self, path: &CopyPath) -> Result<Vec<HeldResource>, StateError> {
        let find = || {
            self.connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM held WHERE COALESCE(name, path) = ?1 ORDER BY uri"
                ))?
                .query_map([path.key()], read)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        find().map_err(|source| self.error(source))
    }

    fn held_aside_at(&self, path: &CopyPath) -> Result<Option<HeldResource>, StateError> {
        let find = || {
            let sql = format!("SELECT {COLUMNS} FROM held WHERE path = ?1");
            self.connection.prepare_cached(&sql)?.query_row([path.as_str()], read).optional()
        };
        find().map_err(|source| self.error(source))
    }

    fn held_by_path(&self, each: &mut dyn FnMut(HeldResource) -> bool) -> Result<(), StateError> {
        let mut read_all = || {
            let sql = format!("SELECT {COLUMNS} FROM held ORDER BY path");
            let mut statement = self.connection.prepare_cached(&sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                if !each(read(row)?) {
                    break;
                }
            }
            Ok(())
        };
        read_all().map_err(|source| self.error(source))
    }

    fn held_count(&self) -> Result<u64, StateError> {
        let count = self.connection.query_row("SELECT COUNT(*) FROM held", [], |row| row.get(0));
        count.map(i64::cast_unsigned).map_err(|source| self.error(source))
    }

    fn held_in(&self, sets: &[SetId]) -> Result<u64, StateError> {
        let mask = sets.iter().fold(0, |mask, set| mask | set.mask());
        let sql = "SELECT COUNT(*) FROM held WHERE sets & ?1 <> 0";
        let count = self.connection.query_row(sql, [mask], |row| row.get::<_, i64>(0));
        count.map(i64::cast_unsigned).map_err(|source| self.error(source))
    }

    fn held_bytes(&self) -> Result<u64, StateError> {
        let sum =
            self.connection.query_row("SELECT COALESCE(SUM(length), 0) FROM held", [], |row| row.get(0));
        sum.map(i64::cast_unsigned).map_err(|source| self.error(source))
    }

    fn named(&self) -> Result<RowSet, StateError> {
        Ok(RowSet::of_new(next_id(&self.connection).map_err(|source| self.error(source))?))
    }

    fn meet(
        &self,
        set: SetId,
        named: &mut RowSet,
        part: &mut [Desired],
        each: &mut Meet<'_>,
    ) -> Result<Vec<Uri>, StateError> {
        meet::meet(&self.connection, Meeting::new(set, named, each), part)
            .map_err(|source| self.error(source))
    }

    fn surplus_after(
        &self,
        set: SetId,
        named: &RowSet,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<HeldResource>, StateError> {
        meet::surplus_after(&self.connection, set, named, after, limit).map_err(|source| self.error(source))
    }
}

/// A prepared statement that inserts or updates rows.
pub(super) struct Putting<'c>(CachedStatement<'c>);

impl<'c> Putting<'c> {
    pub(super) fn into(connection: &'c Connection) -> rusqlite::Result<Self> {
        let sql = "INSERT INTO held (uri, id, sets, length, digests, lastmod, datetime, etag, media_type, links, path, name)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT (uri) DO UPDATE SET sets = sets | excluded.sets, length = excluded.length,
             digests = excluded.digests, lastmod = excluded.lastmod, datetime = excluded.datetime, etag = excluded.etag,
             media_type = excluded.media_type, links = excluded.links, path = excluded.path, name = excluded.name, racy = 0";
        Ok(Self(connection.prepare_cached(sql)?))
    }

    /// Inserts or updates a row. The sets of an existing row are extended. The name is the form of the mapped path in a
    /// file system that ignores case; `None` if that is the path itself.
    pub(super) fn put(
        &mut self,
        (uri, path, name): (&str, &str, Option<&str>),
        (id, sets): (i64, i64),
        metadata: &ResourceMetadata,
    ) -> rusqlite::Result<()> {
        self.0.execute(params![
            uri,
            id,
            sets,
            metadata.length.unwrap_or_default().cast_signed(),
            codec::digests_to_blob(&metadata.digests),
            codec::datetime_text(metadata.lastmod.as_ref()),
            codec::datetime_text(metadata.datetime.as_ref()),
            metadata.etag.as_deref(),
            metadata.media_type.as_ref().map(|kind| kind.as_str()),
            codec::links_text(&metadata.links),
            path,
            name,
        ])?;
        Ok(())
    }
}

/// Updates the metadata of bytes that are held already: times, validator, media type and links. Length and digests
/// stay.
pub(super) fn refresh(
    connection: &Connection,
    uri: &Uri,
    metadata: &ResourceMetadata,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE held SET lastmod = COALESCE(?2, lastmod), datetime = COALESCE(?3, datetime), etag = COALESCE(?4, etag),
             media_type = COALESCE(?5, media_type), links = COALESCE(?6, links) WHERE uri = ?1",
        )?
        .execute((
            uri.as_str(),
            codec::datetime_text(metadata.lastmod.as_ref()),
            codec::datetime_text(metadata.datetime.as_ref()),
            metadata.etag.as_deref(),
            metadata.media_type.as_ref().map(|kind| kind.as_str()),
            codec::links_text(&metadata.links),
        ))?;
    Ok(())
}

/// Records if later bytes may have the same last modification as a held resource.
pub(super) fn set_racy(connection: &Connection, uri: &str, is_racy: bool) -> rusqlite::Result<()> {
    connection.prepare_cached("UPDATE held SET racy = ?2 WHERE uri = ?1")?.execute((uri, is_racy))?;
    Ok(())
}

/// Replaces all links of a held resource.
pub(super) fn link(connection: &Connection, uri: &Uri, links: &[Link]) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE held SET links = ?2 WHERE uri = ?1")?
        .execute((uri.as_str(), codec::links_text(links)))?;
    Ok(())
}
