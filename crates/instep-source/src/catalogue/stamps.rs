//! The stamps that a scan compares files with: the rows in order, without an allocation for each.

use std::sync::Arc;

use rusqlite::{Connection, Row, params};

use super::{CatalogueError, FileStamp, error::Doing, snapshot::Pool};

const PAGE: usize = 1_024;
const READING: &str = "reading what is known of files";

/// Rows of the catalogue as far as a scan needs them. It holds no transaction: a scan records only behind the row it
/// stands at.
#[derive(Debug)]
pub(crate) struct Stamps {
    connection: Option<Connection>,
    pool: Arc<Pool>,
    from: Vec<u8>,
    to: Vec<u8>,
    keys: Vec<u8>,
    page: Vec<StampLine>,
    next: usize,
    complete: bool,
}

#[derive(Clone, Copy, Debug)]
struct StampLine {
    start: usize,
    end: usize,
    known: KnownStamp,
}

/// A file as the catalogue knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownStamp {
    /// Its stamp when it was hashed.
    pub(crate) stamp: Option<FileStamp>,
    /// `true` if it is to be hashed again whatever its stamp.
    pub(crate) rehash: bool,
    /// The sets it belongs to.
    pub(crate) sets: u64,
}

impl Stamps {
    pub(super) fn new(
        connection: Connection,
        pool: Arc<Pool>,
        from: Vec<u8>,
        to: Vec<u8>,
    ) -> Result<Self, CatalogueError> {
        let mut stamps = Self {
            connection: Some(connection),
            pool,
            from,
            to,
            keys: Vec::new(),
            page: Vec::with_capacity(PAGE),
            next: 0,
            complete: false,
        };
        stamps.fetch("key >= ?1")?;
        Ok(stamps)
    }

    /// The row it stands at, with its key.
    pub(crate) fn peek(&self) -> Option<(&[u8], KnownStamp)> {
        let line = self.page.get(self.next)?;
        Some((&self.keys[line.start..line.end], line.known))
    }

    /// Goes to the next row.
    pub(crate) fn advance(&mut self) -> Result<(), CatalogueError> {
        self.next += 1;
        if self.next < self.page.len() || self.complete {
            return Ok(());
        }
        if let Some(last) = self.page.last() {
            self.from.clear();
            self.from.extend_from_slice(&self.keys[last.start..last.end]);
        }
        self.fetch("key > ?1")
    }

    fn fetch(&mut self, beginning: &'static str) -> Result<(), CatalogueError> {
        self.keys.clear();
        self.page.clear();
        self.next = 0;
        let Some(connection) = &self.connection else { return Ok(()) };
        let sql = format!(
            "SELECT key, file_length, mtime_ns, ctime_ns, inode, rehash, sets FROM resource
             WHERE {beginning} AND key < ?2 ORDER BY key LIMIT ?3"
        );
        let mut statement = connection.prepare_cached(&sql).doing(READING)?;
        let mut rows = statement.query(params![self.from, self.to, PAGE as i64]).doing(READING)?;
        while let Some(row) = rows.next().doing(READING)? {
            let start = self.keys.len();
            self.keys.extend_from_slice(row.get_ref(0).doing(READING)?.as_blob().unwrap_or_default());
            self.page.push(StampLine { start, end: self.keys.len(), known: known(row).doing(READING)? });
        }
        self.complete = self.page.len() < PAGE;
        Ok(())
    }
}

impl Drop for Stamps {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.pool.give(connection);
        }
    }
}

fn known(row: &Row<'_>) -> rusqlite::Result<KnownStamp> {
    let stamp = match row.get::<_, Option<i64>>(1)? {
        None => None,
        Some(length) => Some(FileStamp {
            length: length as u64,
            mtime_ns: row.get(2)?,
            ctime_ns: row.get(3)?,
            inode: row.get::<_, i64>(4)? as u64,
        }),
    };
    Ok(KnownStamp { stamp, rehash: row.get(5)?, sets: row.get::<_, i64>(6)? as u64 })
}
