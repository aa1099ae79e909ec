//! The state as an SQLite file in `DIR/.instep/`.
//!
//! One connection writes, that of the [`Committer`](crate::commit::Committer), and any number of others read. Rows are
//! compared a part at a time and read in pages by key, so memory does not grow with their number.

mod changes;
mod followed;
mod groups;
mod held;
mod held_row;
mod log;
mod meet;
mod origins;
mod packs;
mod pending;
mod portable;
mod reading;
mod records;
pub(super) mod row;
mod schema;
mod sources;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use instep_store::database::Beside;
use rusqlite::Connection;

use super::{StateError, Waits};
pub(crate) use origins::by_origin;

/// The part of the file that a reading connection keeps in memory, in KiB.
const READER_CACHE_KIB: u32 = 4_096;

/// The state of one copy in an SQLite file.
#[derive(Debug)]
pub(crate) struct SqliteState {
    connection: Connection,
    path: PathBuf,
    waits: Option<Waits>,
    records_changes: bool,
    /// The file if it is only read; `None` if it is written.
    beside: Option<Arc<Beside>>,
}

impl SqliteState {
    /// Opens or creates the file, migrating an older one.
    ///
    /// # Errors
    /// If it was written by a newer version, is damaged, or storage fails.
    pub(crate) fn open(path: &Path) -> Result<Self, StateError> {
        Ok(Self::over(schema::SCHEMA.open(path)?, path))
    }

    /// Opens the file only for reading, also beside a run and without the lock of the copy. An older file is not
    /// changed: a migrated copy is read.
    ///
    /// # Errors
    /// If there is none, it was written by a newer version, is damaged, or storage fails.
    pub(crate) fn open_beside(path: &Path) -> Result<Self, StateError> {
        Self::read(Arc::new(schema::SCHEMA.open_beside(path)?))
    }

    /// Opens the file of a copy without a run, only for reading: neither the file nor its folder changes.
    ///
    /// # Errors
    /// If there is none, it was written by a newer version, is damaged, or storage fails.
    pub(crate) fn open_at_rest(path: &Path) -> Result<Self, StateError> {
        Self::read(Arc::new(schema::SCHEMA.open_at_rest(path)?))
    }

    fn read(beside: Arc<Beside>) -> Result<Self, StateError> {
        let state = Self::over(beside.connect(READER_CACHE_KIB)?, beside.path());
        Ok(Self { beside: Some(beside), ..state })
    }

    fn over(connection: Connection, path: &Path) -> Self {
        connection.set_prepared_statement_cache_capacity(64);
        Self { connection, path: path.to_owned(), waits: None, records_changes: false, beside: None }
    }

    fn error(&self, source: rusqlite::Error) -> StateError {
        StateError::sqlite(&self.path, source)
    }
}

#[cfg(test)]
mod tests;
