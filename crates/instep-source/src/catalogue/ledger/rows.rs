//! The rows of resources: looked up, written and removed, with the counters that sum them up.

use std::os::unix::ffi::OsStrExt;

use rusqlite::params;

use super::{ChangeLog, RECORDING};
use crate::catalogue::{
    CatalogueError, Resource,
    error::Doing,
    row::{StateColumns, read_resource, resource_columns},
};

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

const INSERT: &str = insert!("NOTHING");
/// The row that was there keeps the time since when, and counts the change.
const REPLACE: &str = insert!(
    "UPDATE SET
     file_length = excluded.file_length, mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns,
     inode = excluded.inode, rehash = excluded.rehash, sets = excluded.sets, uri = excluded.uri,
     lastmod = excluded.lastmod, length = excluded.length, digests = excluded.digests,
     media_type = excluded.media_type, encoding = excluded.encoding, changefreq = excluded.changefreq,
     links = excluded.links, file = excluded.file, changes = changes + excluded.changes"
);

impl ChangeLog<'_> {
    pub(super) fn held(&mut self, key: &[u8]) -> Result<Option<Resource>, CatalogueError> {
        let mut statement =
            self.prepare(concat!("SELECT ", resource_columns!(), " FROM resource WHERE key = ?1"))?;
        let mut rows = statement.query([key]).doing(RECORDING)?;
        rows.next().doing(RECORDING)?.map(|row| read_resource(row, &mut self.reader)).transpose()
    }

    /// Adds the row of a resource; returns `false` if there is one already, which stays as it is.
    pub(super) fn insert(&mut self, resource: &Resource) -> Result<bool, CatalogueError> {
        let is_new = self.put(INSERT, resource, 0)?;
        if is_new {
            self.counters.tally(resource, 1);
        }
        Ok(is_new)
    }

    pub(super) fn replace(
        &mut self,
        held: &Resource,
        next: &Resource,
        changes: u8,
    ) -> Result<(), CatalogueError> {
        self.put(REPLACE, next, changes)?;
        self.counters.tally(held, -1);
        self.counters.tally(next, 1);
        Ok(())
    }

    /// Removes the row of a resource, and returns it.
    pub(super) fn remove(&mut self, key: &[u8]) -> Result<Option<Resource>, CatalogueError> {
        let Some(held) = self.held(key)? else { return Ok(None) };
        self.prepare("DELETE FROM resource WHERE key = ?1")?.execute([key]).doing(RECORDING)?;
        self.counters.tally(&held, -1);
        self.head.revision += 1;
        Ok(Some(held))
    }

    /// Writes the row of a resource; returns `false` if one is there that stays.
    fn put(&mut self, sql: &'static str, resource: &Resource, changes: u8) -> Result<bool, CatalogueError> {
        let stamp = resource.stamp.as_ref();
        let columns = StateColumns::new(&resource.state);
        self.prepare(sql)?
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
                params![
                    resource.file.as_ref().map(|file| file.as_os_str().as_bytes()),
                    self.timeline.last(),
                    changes
                ],
            ))
            .doing(RECORDING)
            .map(|rows| rows > 0)
    }
}
