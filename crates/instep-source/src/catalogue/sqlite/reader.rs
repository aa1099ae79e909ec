//! Reads the file over its own connection.

use std::{ops::ControlFlow, sync::Arc};

use resourcesync::{DateTime, Uri};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    idle::IdleConnections,
    lookup,
    row::{read_change, read_head, read_resource, read_stamp},
    versions,
};
use crate::catalogue::{
    CatalogueError, ChangeRecord, Head, KnownStamp, Resource, ResourceOutline, ResourceTotals,
    ResourceVersion,
    codec::SharedTypes,
    columns::{change_columns, resource_columns},
    counters::HourlyChanges,
    engine::{KeyRange, ReadCatalogue},
    error::Doing,
    stamp_page::{self, StampPage},
};

const READING: &str = "reading";
const COUNTING: &str = "counting";
/// Statements for a page of resources after a key, and for a page of changes after a sequence number.
pub(super) const RESOURCES: &str = concat!(
    "SELECT ",
    resource_columns!(),
    " FROM resource WHERE key > ?1 AND sets & ?2 != 0 ORDER BY key LIMIT ?3"
);
pub(super) const CHANGES: &str = concat!(
    "SELECT ",
    change_columns!(),
    " FROM change WHERE sequence > ?1 AND sets & ?2 != 0 ORDER BY sequence LIMIT ?3"
);

/// A connection, which is returned when this value is dropped.
#[derive(Debug)]
pub(super) struct FileReader {
    connection: Option<Connection>,
    idle: Arc<IdleConnections>,
    /// `true` while a transaction keeps the reader at one moment.
    is_at_moment: bool,
}

impl FileReader {
    pub(super) fn new(connection: Connection, idle: Arc<IdleConnections>) -> Self {
        Self { connection: Some(connection), idle, is_at_moment: false }
    }

    /// Begins a transaction: from now on the reader shows the catalogue as it is at this moment.
    pub(super) fn begin(&mut self) -> Result<Head, CatalogueError> {
        // The snapshot of SQLite begins with the first read, which is that of the head.
        self.connection()?.execute_batch("BEGIN").doing(READING)?;
        self.is_at_moment = true;
        self.head()
    }

    fn connection(&self) -> Result<&Connection, CatalogueError> {
        self.connection.as_ref().ok_or(CatalogueError::Closed)
    }
}

impl Drop for FileReader {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && (!self.is_at_moment || connection.execute_batch("ROLLBACK").is_ok())
        {
            self.idle.give(connection);
        }
    }
}

impl ReadCatalogue for FileReader {
    fn head(&self) -> Result<Head, CatalogueError> {
        read_head(self.connection()?)
    }

    fn resources(&self, keys: &[&[u8]]) -> Result<Vec<Option<Resource>>, CatalogueError> {
        let sql = concat!("SELECT ", resource_columns!(), " FROM resource WHERE key = ?1");
        let mut statement = self.connection()?.prepare_cached(sql).doing(READING)?;
        let mut types = SharedTypes::default();
        let mut read = |key: &[u8]| {
            let mut rows = statement.query([key]).doing(READING)?;
            rows.next().doing(READING)?.map(|row| read_resource(row, &mut types)).transpose()
        };
        keys.iter().map(|key| read(key)).collect()
    }

    fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, CatalogueError> {
        self.connection()?
            .prepare_cached("SELECT value FROM meta WHERE name = ?1")
            .and_then(|mut statement| statement.query_row([name], |row| row.get(0)).optional())
            .doing(READING)
    }

    fn resources_after(
        &self,
        sets: u64,
        key: &[u8],
        limit: usize,
        types: &mut SharedTypes,
    ) -> Result<Vec<Resource>, CatalogueError> {
        let mut statement = self.connection()?.prepare_cached(RESOURCES).doing(READING)?;
        let mut rows = statement.query(params![key, sets as i64, limit as i64]).doing(READING)?;
        let mut page = Vec::with_capacity(limit);
        while let Some(row) = rows.next().doing(READING)? {
            page.push(read_resource(row, types)?);
        }
        Ok(page)
    }

    fn changes_after(
        &self,
        sets: u64,
        sequence: u64,
        limit: usize,
        types: &mut SharedTypes,
    ) -> Result<Vec<ChangeRecord>, CatalogueError> {
        let mut statement = self.connection()?.prepare_cached(CHANGES).doing(READING)?;
        let mut rows = statement.query(params![sequence as i64, sets as i64, limit as i64]).doing(READING)?;
        let mut page = Vec::with_capacity(limit);
        while let Some(row) = rows.next().doing(READING)? {
            page.push(read_change(row, types)?);
        }
        Ok(page)
    }

    fn stamps(&self, range: KeyRange<'_>, page: &mut StampPage) -> Result<(), CatalogueError> {
        const DOING: &str = "reading what is known of files";
        macro_rules! rows {
            ($beginning:literal) => {
                concat!(
                    "SELECT key, file_length, mtime_ns, ctime_ns, inode, rehash, sets FROM resource WHERE ",
                    $beginning,
                    " AND key < ?2 ORDER BY key LIMIT ?3"
                )
            };
        }
        let sql = if range.is_after { rows!("key > ?1") } else { rows!("key >= ?1") };
        let mut statement = self.connection()?.prepare_cached(sql).doing(DOING)?;
        let mut rows =
            statement.query(params![range.from, range.to, stamp_page::PAGE as i64]).doing(DOING)?;
        while let Some(row) = rows.next().doing(DOING)? {
            let key = row.get_ref(0).doing(DOING)?.as_blob().unwrap_or_default();
            page.push(key, known(row).doing(DOING)?);
        }
        Ok(())
    }

    fn count_changes(&self, sets: u64, after: u64) -> Result<u64, CatalogueError> {
        self.connection()?
            .prepare_cached("SELECT count(*) FROM change WHERE sequence > ?1 AND sets & ?2 != 0")
            .and_then(|mut statement| {
                statement.query_row(params![after as i64, sets as i64], |row| row.get::<_, i64>(0))
            })
            .map(|count| count as u64)
            .doing(READING)
    }

    fn sequence_before(&self, datetime: DateTime, (first, last): (u64, u64)) -> Result<u64, CatalogueError> {
        let mut statement = self
            .connection()?
            .prepare_cached("SELECT datetime FROM change WHERE sequence = ?1")
            .doing(READING)?;
        let (mut older, mut newer) = (first, last + 1);
        while newer - older > 1 {
            let middle = older + (newer - older) / 2;
            let recorded: i64 = statement.query_row([middle as i64], |row| row.get(0)).doing(READING)?;
            if recorded < datetime.unix_micros() { older = middle } else { newer = middle }
        }
        Ok(older)
    }

    fn totals(&self, set: u8) -> Result<ResourceTotals, CatalogueError> {
        let totals = |row: &Row<'_>| {
            Ok(ResourceTotals {
                resources: row.get::<_, i64>(0)? as u64,
                bytes: row.get::<_, i64>(1)? as u64,
            })
        };
        self.connection()?
            .prepare_cached("SELECT resources, bytes FROM tally WHERE number = ?1")
            .and_then(|mut statement| statement.query_row([set], totals).optional())
            .map(Option::unwrap_or_default)
            .doing(READING)
    }

    fn activity(&self, from_hour: i64) -> Result<Vec<HourlyChanges>, CatalogueError> {
        let mut statement = self
            .connection()?
            .prepare_cached("SELECT hour, kind, changes FROM activity WHERE hour >= ?1")
            .doing(COUNTING)?;
        let rows = statement.query_map([from_hour], |row| {
            Ok(HourlyChanges {
                hour: row.get(0)?,
                kind: row.get(1)?,
                changes: row.get::<_, i64>(2)?.cast_unsigned(),
            })
        });
        rows.and_then(Iterator::collect).doing(COUNTING)
    }

    fn outlines(&self, sets: u64, visit: &mut dyn FnMut(ResourceOutline<'_>)) -> Result<(), CatalogueError> {
        let sql = "SELECT key, uri, length, media_type FROM resource WHERE sets & ?1 != 0 ORDER BY key";
        let mut statement = self.connection()?.prepare_cached(sql).doing(COUNTING)?;
        let mut rows = statement.query([sets as i64]).doing(COUNTING)?;
        while let Some(row) = rows.next().doing(COUNTING)? {
            let text = |column| row.get_ref(column).ok().and_then(|value| value.as_str().ok());
            visit(ResourceOutline {
                key: row.get_ref(0).ok().and_then(|value| value.as_blob().ok()).unwrap_or_default(),
                uri: text(1).unwrap_or_default(),
                length: row.get::<_, Option<i64>>(2).doing(COUNTING)?.map(|length| length as u64),
                media_type: text(3),
            });
        }
        Ok(())
    }

    fn resources_from(
        &self,
        key: &[u8],
        visit: &mut dyn FnMut(Resource) -> Result<ControlFlow<()>, CatalogueError>,
    ) -> Result<(), CatalogueError> {
        lookup::resources_from(self.connection()?, key, visit)
    }

    fn totals_between(&self, from: &[u8], to: &[u8], most: u64) -> Result<ResourceTotals, CatalogueError> {
        lookup::totals_between(self.connection()?, (from, to), most)
    }

    fn matching(
        &self,
        patterns: &[String],
        range: (&[u8], &[u8]),
        most: usize,
    ) -> Result<Vec<Resource>, CatalogueError> {
        lookup::matching(self.connection()?, patterns, range, most)
    }

    fn changes_of(&self, uri: &Uri, after: u64, most: usize) -> Result<Vec<ChangeRecord>, CatalogueError> {
        lookup::changes_of(self.connection()?, uri, after, most)
    }

    fn versions(&self, uri: &Uri) -> Result<Vec<ResourceVersion>, CatalogueError> {
        versions::of(self.connection()?, uri)
    }

    fn versions_since(&self, uris: &[&Uri]) -> Result<Vec<Option<DateTime>>, CatalogueError> {
        versions::since(self.connection()?, uris)
    }

    fn file_damage(&self) -> Result<Vec<String>, CatalogueError> {
        let mut statement = self.connection()?.prepare("PRAGMA integrity_check").doing(READING)?;
        let lines = statement.query_map([], |row| row.get(0)).doing(READING)?;
        let mut damage = lines.collect::<Result<Vec<String>, _>>().doing(READING)?;
        damage.retain(|line| line != "ok");
        Ok(damage)
    }
}

fn known(row: &Row<'_>) -> rusqlite::Result<KnownStamp> {
    Ok(KnownStamp { stamp: read_stamp(row)?, rehash: row.get(5)?, sets: row.get::<_, i64>(6)? as u64 })
}
