//! The rows of objects in object storage that have the bytes of resources: begun, put, and partly or completely unused.
//!
//! A key is recorded before its object is put, and never used again, so no object is lost: one that is begun and not
//! used by a group is removed by the next start, and an unused one is removed once the group that released it is
//! durable.

use instep_store::NameKind;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{SqliteState, row};
use crate::{
    map::CopyPath,
    state::{
        HeldAt, PackTotals, ReadHeld as _, ReadPacks, Repacked, StateError, WritePacks,
        codec::place_from_text,
    },
};

impl ReadPacks for SqliteState {
    fn begun_packs(&self) -> Result<Vec<Box<str>>, StateError> {
        self.pack_keys("SELECT key FROM pack WHERE bytes IS NULL ORDER BY id")
    }

    fn dead_packs(&self) -> Result<Vec<Box<str>>, StateError> {
        self.pack_keys("SELECT key FROM pack WHERE dead >= bytes ORDER BY id")
    }

    fn sparse_packs(&self) -> Result<Vec<Box<str>>, StateError> {
        self.pack_keys("SELECT key FROM pack WHERE dead * 2 > bytes AND dead < bytes ORDER BY id")
    }

    fn unknown_packs(&self, keys: &[String]) -> Result<Vec<Box<str>>, StateError> {
        let find = || {
            let mut known = self.connection.prepare_cached("SELECT 1 FROM pack WHERE key = ?1")?;
            let mut unknown = Vec::new();
            for key in keys {
                if !known.exists([key])? {
                    unknown.push(key.as_str().into());
                }
            }
            Ok(unknown)
        };
        find().map_err(|source| self.error(source))
    }

    fn pack_totals(&self) -> Result<PackTotals, StateError> {
        let sql = "SELECT COUNT(*), COALESCE(SUM(bytes), 0), COALESCE(SUM(MIN(dead, bytes)), 0) FROM pack WHERE bytes NOT NULL";
        let number = |row: &Row<'_>, column| row.get::<_, i64>(column).map(i64::cast_unsigned);
        self.connection
            .query_row(sql, [], |row| {
                Ok(PackTotals { objects: number(row, 0)?, bytes: number(row, 1)?, dead: number(row, 2)? })
            })
            .map_err(|source| self.error(source))
    }

    fn kind_at(&self, path: &CopyPath) -> Result<Option<NameKind>, StateError> {
        if let Some(kind) = self.held_like(path)?.iter().find_map(|held| held.kind_shown_at(path)) {
            return Ok(Some(kind));
        }
        let key = path.key();
        // The range from a slash to the byte after it has everything that begins with the path and a slash.
        let path = path.as_str();
        let range = (format!("{key}/"), format!("{key}0"), format!("{path}/"), format!("{path}0"));
        let is_folder = self
            .connection
            .prepare_cached(
                "SELECT 1 FROM held WHERE COALESCE(name, path) >= ?1 AND COALESCE(name, path) < ?2
                 AND path >= ?3 AND path < ?4 LIMIT 1",
            )
            .and_then(|mut statement| statement.query_row(range, |_| Ok(())).optional())
            .map_err(|source| self.error(source))?;
        Ok(is_folder.map(|()| NameKind::Folder))
    }
}

impl WritePacks for SqliteState {
    fn begin_packs(&mut self, keys: &[&str]) -> Result<(), StateError> {
        let mut begin = || {
            let transaction = self.connection.transaction()?;
            for key in keys {
                transaction.prepare_cached("INSERT INTO pack (key) VALUES (?1)")?.execute([key])?;
            }
            transaction.commit()
        };
        begin().map_err(|source| StateError::sqlite(&self.path, source))
    }

    fn forget_packs(&mut self, keys: &[Box<str>]) -> Result<(), StateError> {
        let mut forget = || {
            let transaction = self.connection.transaction()?;
            for key in keys {
                transaction.prepare_cached("DELETE FROM pack WHERE key = ?1")?.execute([key])?;
            }
            transaction.commit()
        };
        forget().map_err(|source| StateError::sqlite(&self.path, source))
    }
}

impl SqliteState {
    fn pack_keys(&self, sql: &str) -> Result<Vec<Box<str>>, StateError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement
                .query_map([], |row| Ok(row.get_ref(0)?.as_str()?.into()))?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|source| self.error(source))
    }
}

/// Reads the place of the bytes from a column that `held_row.rs` composes.
pub(super) fn place(from: &Row<'_>, column: usize) -> rusqlite::Result<HeldAt> {
    let Some(text) = row::text(from, column)? else { return Ok(HeldAt::Path) };
    let damaged = || row::unreadable(column, std::io::Error::other(format!("{text:?} is not a place")));
    place_from_text(text).ok_or_else(damaged)
}

/// Records that the bytes of a held resource are no longer used, because they are replaced or removed.
pub(super) fn leave(connection: &Connection, uri: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE pack SET dead = dead + held.packed FROM held WHERE held.uri = ?1 AND pack.id = held.pack",
        )?
        .execute([uri])?;
    Ok(())
}

/// Records the place of the bytes of a row.
pub(super) fn settle(connection: &Connection, uri: &str, place: &HeldAt) -> rusqlite::Result<()> {
    let HeldAt::Object { key, offset, length } = place else { return Ok(()) };
    connection
        .prepare_cached(
            "UPDATE held SET pack = (SELECT p.id FROM pack AS p WHERE p.key = ?2), \"offset\" = ?3, packed = ?4 WHERE uri = ?1",
        )?
        .execute(params![uri, key, offset.cast_signed(), length.cast_signed()])?;
    Ok(())
}

/// Records in another state the place that the bytes of a row have.
pub(super) fn copy(connection: &Connection, uri: &str, place: &HeldAt) -> rusqlite::Result<()> {
    let HeldAt::Object { key, .. } = place else { return Ok(()) };
    connection.prepare_cached("INSERT OR IGNORE INTO pack (key) VALUES (?1)")?.execute([key])?;
    settle(connection, uri, place)
}

/// Records objects that were put, each with its number of bytes, and parts that were copied from one to another.
pub(super) fn take(
    connection: &Connection,
    put: &[(Box<str>, u64)],
    repacked: &[Repacked],
) -> rusqlite::Result<()> {
    for (key, bytes) in put {
        connection
            .prepare_cached("UPDATE pack SET bytes = ?2 WHERE key = ?1")?
            .execute(params![key, bytes.cast_signed()])?;
    }
    for Repacked { uri, to } in repacked {
        leave(connection, uri.as_str())?;
        settle(connection, uri.as_str(), to)?;
    }
    Ok(())
}
