//! The catalogue at one moment, read while others write.

use std::{
    mem,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    vec,
};

use instep_store::database::open_reader;
use resourcesync::DateTime;
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    CatalogueError, ChangeRecord, Head, Resource, ResourceTotals,
    error::Doing,
    row::{StateReader, change_columns, read_change, read_head, read_resource, resource_columns},
};

/// Rows that are fetched at once; each page begins after the key of the last row (S13).
const PAGE: usize = 512;
const READING: &str = "reading";
/// A page of resources behind a key, and one of changes behind a sequence number.
const RESOURCES: &str = concat!(
    "SELECT ",
    resource_columns!(),
    " FROM resource WHERE key > ?1 AND sets & ?2 != 0 ORDER BY key LIMIT ?3"
);
const CHANGES: &str = concat!(
    "SELECT ",
    change_columns!(),
    " FROM change WHERE sequence > ?1 AND sets & ?2 != 0 ORDER BY sequence LIMIT ?3"
);

/// The part of the file that a reading connection keeps in memory.
pub(super) const CACHE_KIB: u32 = 2_048;

/// Connections that read, kept for the next snapshot.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<Vec<Connection>>);

impl Pool {
    pub(super) fn take(&self, path: &Path) -> Result<Connection, CatalogueError> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            Some(connection) => Ok(connection),
            None => open_reader(path, CACHE_KIB).map_err(CatalogueError::from),
        }
    }

    pub(super) fn give(&self, connection: Connection) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

/// The catalogue at one moment: what is recorded after it is not seen through it.
#[derive(Debug)]
pub struct Snapshot {
    connection: Option<Connection>,
    pool: Arc<Pool>,
    head: Head,
    at: DateTime,
    path: Arc<Path>,
}

impl Snapshot {
    /// Begins to read; the caller sees to it that nothing is being recorded, and names the time.
    pub(super) fn begin(
        connection: Connection,
        pool: Arc<Pool>,
        at: DateTime,
        path: Arc<Path>,
    ) -> Result<Self, CatalogueError> {
        // SQLite's snapshot begins with the first read, which is that of the head.
        connection.execute_batch("BEGIN").doing(READING)?;
        let head = read_head(&connection)?;
        Ok(Self { connection: Some(connection), pool, head, at, path })
    }

    /// Returns the time of the snapshot, by the Source's own clock: each change up to then is in it, none after it.
    pub fn at(&self) -> DateTime {
        self.at
    }

    /// Returns the file of the catalogue.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the position of the catalogue.
    pub fn head(&self) -> Head {
        self.head
    }

    /// The resources that belong to one of the sets in the mask, in the order of their keys.
    pub fn resources(&self, sets: u64) -> ResourceRows<'_> {
        self.resources_after(sets, &[])
    }

    /// Returns the resources from the first one behind a key.
    pub fn resources_after(&self, sets: u64, key: &[u8]) -> ResourceRows<'_> {
        ResourceRows {
            snapshot: self,
            sets,
            after: key.to_owned(),
            page: Vec::new().into_iter(),
            reader: StateReader::default(),
            done: false,
        }
    }

    /// The changes in one of the sets of the mask that come after a sequence number, in order.
    pub fn changes(&self, sets: u64, after: u64) -> ChangeRows<'_> {
        ChangeRows {
            snapshot: self,
            sets,
            after,
            page: Vec::new().into_iter(),
            reader: StateReader::default(),
            done: false,
        }
    }

    /// Returns the number of these changes; costs one index scan over them.
    pub fn count_changes(&self, sets: u64, after: u64) -> Result<u64, CatalogueError> {
        self.connection()?
            .prepare_cached("SELECT count(*) FROM change WHERE sequence > ?1 AND sets & ?2 != 0")
            .and_then(|mut it| it.query_row(params![after as i64, sets as i64], |row| row.get::<_, i64>(0)))
            .map(|count| count as u64)
            .doing(READING)
    }

    /// The last sequence number whose change is older than a datetime; found by halving, as both grow together.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn sequence_before(&self, datetime: DateTime) -> Result<u64, CatalogueError> {
        let mut statement = self
            .connection()?
            .prepare_cached("SELECT datetime FROM change WHERE sequence = ?1")
            .doing(READING)?;
        let (mut older, mut newer) = (self.head.forgotten, self.head.sequence + 1);
        while newer - older > 1 {
            let middle = older + (newer - older) / 2;
            let recorded: i64 = statement.query_row([middle as i64], |row| row.get(0)).doing(READING)?;
            match recorded < datetime.unix_micros() {
                true => older = middle,
                false => newer = middle,
            }
        }
        Ok(older)
    }

    /// Returns the size of one set; costs nothing.
    pub fn totals(&self, set: u8) -> Result<ResourceTotals, CatalogueError> {
        let totals = |row: &rusqlite::Row<'_>| {
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

    /// One resource.
    pub fn resource(&self, key: &[u8]) -> Result<Option<Resource>, CatalogueError> {
        resource(self.connection()?, key)
    }

    /// A value that a publication kept under a name.
    pub fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, CatalogueError> {
        meta(self.connection()?, name)
    }

    pub(super) fn connection(&self) -> Result<&Connection, CatalogueError> {
        self.connection.as_ref().ok_or(CatalogueError::Closed)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && connection.execute_batch("ROLLBACK").is_ok()
        {
            self.pool.give(connection);
        }
    }
}

pub(super) fn resource(connection: &Connection, key: &[u8]) -> Result<Option<Resource>, CatalogueError> {
    let sql = concat!("SELECT ", resource_columns!(), " FROM resource WHERE key = ?1");
    let mut statement = connection.prepare_cached(sql).doing(READING)?;
    let mut rows = statement.query([key]).doing(READING)?;
    rows.next().doing(READING)?.map(|row| read_resource(row, &mut StateReader::default())).transpose()
}

pub(super) fn meta(connection: &Connection, name: &str) -> Result<Option<Vec<u8>>, CatalogueError> {
    connection
        .prepare_cached("SELECT value FROM meta WHERE name = ?1")
        .and_then(|mut statement| statement.query_row([name], |row| row.get(0)).optional())
        .doing(READING)
}

/// Resources in the order of their keys; memory does not grow with their number.
#[derive(Debug)]
pub struct ResourceRows<'a> {
    snapshot: &'a Snapshot,
    sets: u64,
    after: Vec<u8>,
    page: vec::IntoIter<Resource>,
    reader: StateReader,
    done: bool,
}

impl ResourceRows<'_> {
    fn fetch(&mut self) -> Result<Vec<Resource>, CatalogueError> {
        let mut statement = self.snapshot.connection()?.prepare_cached(RESOURCES).doing(READING)?;
        let mut rows = statement.query(params![self.after, self.sets as i64, PAGE as i64]).doing(READING)?;
        let mut page = Vec::with_capacity(PAGE);
        while let Some(row) = rows.next().doing(READING)? {
            page.push(read_resource(row, &mut self.reader)?);
        }
        if let Some(last) = page.last() {
            self.after.clone_from(&last.key);
        }
        Ok(page)
    }
}

/// Lines of the change log in order; memory does not grow with their number.
#[derive(Debug)]
pub struct ChangeRows<'a> {
    snapshot: &'a Snapshot,
    sets: u64,
    after: u64,
    page: vec::IntoIter<ChangeRecord>,
    reader: StateReader,
    done: bool,
}

impl ChangeRows<'_> {
    fn fetch(&mut self) -> Result<Vec<ChangeRecord>, CatalogueError> {
        let mut statement = self.snapshot.connection()?.prepare_cached(CHANGES).doing(READING)?;
        let mut rows =
            statement.query(params![self.after as i64, self.sets as i64, PAGE as i64]).doing(READING)?;
        let mut page = Vec::with_capacity(PAGE);
        while let Some(row) = rows.next().doing(READING)? {
            page.push(read_change(row, &mut self.reader)?);
        }
        if let Some(last) = page.last() {
            self.after = last.sequence;
        }
        Ok(page)
    }
}

/// Pages one after the other, until one is short or fails.
macro_rules! paged {
    ($pages:ident, $item:ident) => {
        impl Iterator for $pages<'_> {
            type Item = Result<$item, CatalogueError>;

            fn next(&mut self) -> Option<Self::Item> {
                if let Some(item) = self.page.next() {
                    return Some(Ok(item));
                }
                if mem::replace(&mut self.done, true) {
                    return None;
                }
                match self.fetch() {
                    Ok(page) => {
                        self.done = page.len() < PAGE;
                        self.page = page.into_iter();
                        self.page.next().map(Ok)
                    }
                    Err(error) => Some(Err(error)),
                }
            }
        }
    };
}
paged!(ResourceRows, Resource);
paged!(ChangeRows, ChangeRecord);

#[cfg(test)]
mod tests;
