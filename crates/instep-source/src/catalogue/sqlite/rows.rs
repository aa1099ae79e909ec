//! The rows of an open transaction.

use std::os::unix::ffi::OsStrExt;

use resourcesync::{Digests, Uri};
use rusqlite::{CachedStatement, Connection, ffi, params};

use super::row::{StateColumns, read_resource};
use crate::catalogue::{
    CatalogueError, Keep, NamedValue, Observation, Patch, Resource, ResourceVersion,
    codec::{SharedTypes, write_change, write_digests, write_patch},
    columns::resource_columns,
    engine::{LedgerRows, NewChange},
    error::Doing,
    moves::CatalogueMove,
};

const RECORDING: &str = "recording observations";

macro_rules! insert {
    ($conflict:literal) => {
        concat!(
            "INSERT INTO resource (",
            resource_columns!(),
            ")
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
             ON CONFLICT (key) DO ",
            $conflict
        )
    };
}

const HELD: &str = concat!("SELECT ", resource_columns!(), " FROM resource WHERE key = ?1");
const APPEND: &str =
    "INSERT INTO change VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, NULL)";
const INSERT: &str = insert!("NOTHING");
/// The existing row keeps the time since which the resource is known, and counts the change.
const REPLACE: &str = insert!(
    "UPDATE SET
     file_length = excluded.file_length, mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns,
     inode = excluded.inode, rehash = excluded.rehash, sets = excluded.sets, uri = excluded.uri,
     lastmod = excluded.lastmod, length = excluded.length, digests = excluded.digests,
     media_type = excluded.media_type, encoding = excluded.encoding, changefreq = excluded.changefreq,
     links = excluded.links, file = excluded.file, changes = changes + excluded.changes"
);

/// The writing connection, within a transaction.
pub(super) struct FileRows<'a> {
    pub(super) connection: &'a Connection,
    types: SharedTypes,
    ready: ReadyStatements<'a>,
}

/// The statements that each resource needs: taken from the cache once for a transaction, because looking one up, by the hash of
/// its text, costs a tenth of running it.
struct ReadyStatements<'a> {
    connection: &'a Connection,
    taken: Vec<(&'static str, CachedStatement<'a>)>,
}

impl<'a> ReadyStatements<'a> {
    fn get(&mut self, sql: &'static str) -> Result<&mut CachedStatement<'a>, CatalogueError> {
        let at = match self.taken.iter().position(|(known, _)| *known == sql) {
            Some(at) => at,
            None => {
                self.taken.push((sql, self.connection.prepare_cached(sql).doing(RECORDING)?));
                self.taken.len() - 1
            }
        };
        Ok(&mut self.taken[at].1)
    }
}

impl<'a> FileRows<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self {
        let ready = ReadyStatements { connection, taken: Vec::new() };
        Self { connection, types: SharedTypes::default(), ready }
    }

    pub(super) fn prepare(&self, sql: &'static str) -> Result<CachedStatement<'a>, CatalogueError> {
        self.connection.prepare_cached(sql).doing(RECORDING)
    }

    /// Writes the row of a resource. Returns `false` if there is a row already, which stays as it is.
    fn put(
        &mut self,
        sql: &'static str,
        resource: &Resource,
        since: i64,
        changes: u8,
    ) -> Result<bool, CatalogueError> {
        let stamp = resource.stamp.as_ref();
        let columns = StateColumns::new(&resource.state);
        self.ready
            .get(sql)?
            .execute(columns.between(
                params![
                    resource.key,
                    stamp.map(|stamp| stamp.length as i64),
                    stamp.map(|stamp| stamp.mtime_ns),
                    stamp.map(|stamp| stamp.ctime_ns),
                    stamp.map(|stamp| stamp.inode as i64),
                    resource.rehash,
                    resource.sets as i64,
                    resource.uri.as_str()
                ],
                params![resource.file.as_ref().map(|file| file.as_os_str().as_bytes()), since, changes],
            ))
            .doing(RECORDING)
            .map(|rows| rows > 0)
    }
}

/// Fails if a fault has ended the transaction: on a full or faulty disk SQLite undoes all of it, and not only the
/// statement that failed.
pub(super) fn still_open(connection: &Connection) -> Result<(), CatalogueError> {
    if !connection.is_autocommit() {
        return Ok(());
    }
    let ended = ffi::Error::new(ffi::SQLITE_ABORT_ROLLBACK);
    Err(rusqlite::Error::SqliteFailure(ended, None)).doing(RECORDING)
}

impl LedgerRows for FileRows<'_> {
    fn expect(&mut self, _: &[Observation]) -> Result<(), CatalogueError> {
        Ok(())
    }

    fn save(&mut self) -> Result<(), CatalogueError> {
        // Outside of a transaction it would begin one, whose end would commit this work alone.
        still_open(self.connection)?;
        self.connection.execute_batch("SAVEPOINT work").doing(RECORDING)
    }

    fn release(&mut self) -> Result<(), CatalogueError> {
        self.connection.execute_batch("RELEASE work").doing(RECORDING)
    }

    fn undo(&mut self) -> Result<(), CatalogueError> {
        if self.connection.is_autocommit() {
            // The fault has undone the whole transaction, and is what is reported.
            return Ok(());
        }
        self.connection.execute_batch("ROLLBACK TO work; RELEASE work").doing(RECORDING)
    }

    fn held(&mut self, key: &[u8]) -> Result<Option<Resource>, CatalogueError> {
        let mut rows = self.ready.get(HELD)?.query([key]).doing(RECORDING)?;
        rows.next().doing(RECORDING)?.map(|row| read_resource(row, &mut self.types)).transpose()
    }

    fn insert(&mut self, resource: &Resource, since: i64) -> Result<bool, CatalogueError> {
        self.put(INSERT, resource, since, 0)
    }

    fn replace(&mut self, next: &Resource, changes: u8) -> Result<(), CatalogueError> {
        // The row exists and keeps its time, so the 0 is not written.
        self.put(REPLACE, next, 0, changes).map(drop)
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), CatalogueError> {
        self.prepare("DELETE FROM resource WHERE key = ?1")?.execute([key]).doing(RECORDING).map(drop)
    }

    fn append(&mut self, line: &NewChange<'_>) -> Result<(), CatalogueError> {
        let columns = StateColumns::new(line.state);
        let before = line.before.map(|before| write_digests(&before.digests));
        self.ready
            .get(APPEND)?
            .execute(columns.between(
                params![
                    line.sequence as i64,
                    line.datetime.unix_micros(),
                    write_change(line.change),
                    line.sets as i64,
                    line.uri.as_str()
                ],
                params![before],
            ))
            .doing(RECORDING)
            .map(drop)
    }

    fn drop_changes(&mut self, through: u64) -> Result<(), CatalogueError> {
        self.prepare("DELETE FROM change WHERE sequence <= ?1")?
            .execute([through as i64])
            .doing("dropping old changes")
            .map(drop)
    }

    fn set_meta(&mut self, values: &[NamedValue]) -> Result<(), CatalogueError> {
        for (name, value) in values {
            match value {
                Some(value) => self
                    .prepare("INSERT OR REPLACE INTO meta VALUES (?1, ?2)")?
                    .execute(params![name, value])
                    .doing("keeping a value")?,
                None => self
                    .prepare("DELETE FROM meta WHERE name = ?1")?
                    .execute([name])
                    .doing("dropping a value")?,
            };
        }
        Ok(())
    }

    fn move_all(&mut self, moved: &CatalogueMove) -> Result<(), CatalogueError> {
        match moved {
            CatalogueMove::BaseUrl { from, to } => self.move_to(from, to),
            CatalogueMove::Sets(moves) => self.renumber_sets(moves),
        }
    }

    fn set_patches(&mut self, patches: &[(u64, Patch)]) -> Result<(), CatalogueError> {
        let mut update = self.prepare("UPDATE change SET patch = ?2 WHERE sequence = ?1")?;
        for (sequence, patch) in patches {
            update.execute(params![*sequence as i64, write_patch(patch)]).doing("keeping a patch")?;
        }
        Ok(())
    }

    fn keep_versions(
        &mut self,
        versions: &[(Uri, ResourceVersion)],
        keep: Keep,
    ) -> Result<Vec<Digests>, CatalogueError> {
        self.put_versions(versions, keep)
    }

    fn unreferenced(&mut self, digests: &[Digests]) -> Result<Vec<Digests>, CatalogueError> {
        self.without_version(digests)
    }
}
