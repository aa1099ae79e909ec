//! The state of a copy: resources held and owed, and how far each set was followed. SQLite in `DIR/.instep/`.
//!
//! One connection writes, that of the [`Committer`](crate::commit::Committer); any number read beside it
//! ([`CopyState::reader`]). Rows are met a part at a time and paged by key, so memory does not grow with their number.

mod actions;
mod aside;
mod changes;
pub(crate) mod codec;
mod gone;
mod held;
mod history;
mod intent;
mod marks;
mod meet;
mod origins;
mod owed;
mod packs;
mod reached;
mod record;
mod runs;
mod schema;
mod sets;
mod sources;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

pub(crate) use instep_store::database::DatabaseError;
use instep_store::database::{Beside, is_storage_failure, open_reader};
use rusqlite::Connection;

pub use crate::plan::ResourceMetadata;
pub(crate) use actions::Pushing;
pub(crate) use actions::{Action, ActionKind, Actions};
pub(crate) use aside::Aside;
pub(crate) use marks::Marks;
pub use reached::ReachedPoint;
pub(crate) use record::{Checkpoint, DocumentRecord, Owed, PassedEntry, SetId};
pub use record::{HeldAt, HeldResource};
pub(crate) use runs::{LoggedProblem, LoggedRun, RunId};
pub(crate) use sources::SourceId;

pub(crate) use crate::records::operations::Operation;
pub(crate) use intent::Ledger;
pub(crate) use record::{HeldFile, Waits};

/// A state that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The file cannot be opened, or was written by a newer version (exit code 10).
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The disk is full, read-only or failing (exit code 8).
    #[error("Storage failed for the state {}", path.display())]
    Storage {
        /// The file.
        path: PathBuf,
        /// The reason that SQLite gives.
        source: rusqlite::Error,
    },
    /// SQLite failed otherwise, or the file is damaged.
    #[error("Cannot use the state {}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The reason that SQLite gives.
        source: rusqlite::Error,
    },
    /// A record does not hold what any version of instep writes.
    #[error("The record {name:?} in {} cannot be read ({what}): restore the file from a backup, or rebuild it from the copy", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The name of the record.
        name: String,
        /// The fault.
        what: String,
    },
    /// A temporary file beside the state cannot be made or replaced.
    #[error("Cannot write {}", path.display())]
    Scratch {
        /// The file, or its folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The copy follows as many sets as it can.
    #[error("The copy follows {most} sets already: use another folder for {uri}")]
    TooManySets {
        /// The set that came on top.
        uri: String,
        /// The number that a copy takes.
        most: u8,
    },
}

impl StateError {
    pub(crate) fn sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        if is_storage_failure(&source) {
            Self::Storage { path, source }
        } else {
            Self::Sqlite { path, source }
        }
    }

    /// Returns `true` if space or the disk is the cause (exit code 8).
    pub fn is_storage(&self) -> bool {
        match self {
            Self::Database(error) => error.is_storage_failure(),
            Self::Storage { .. } | Self::Scratch { .. } => true,
            Self::Sqlite { .. } | Self::Record { .. } | Self::TooManySets { .. } => false,
        }
    }
}

/// The part of the file that a reading connection keeps in memory.
const READER_CACHE_KIB: u32 = 4_096;

/// The state of one copy.
#[derive(Debug)]
pub(crate) struct CopyState {
    connection: Connection,
    path: PathBuf,
    waits: Option<Waits>,
    records_changes: bool,
    /// The file as it is read without being written; `None` for one that is written.
    beside: Option<Arc<Beside>>,
}

impl CopyState {
    /// The setting that keeps the URL below which paths are those of the URIs.
    pub(crate) const BASE: &str = "base";

    /// Opens or makes the file, bringing an older one up to date.
    ///
    /// # Errors
    /// If it was written by a newer version, is damaged, or storage fails.
    pub(crate) fn open(path: &Path) -> Result<Self, StateError> {
        Ok(Self::over(schema::SCHEMA.open(path)?, path))
    }

    /// Opens the file only to read it, also beside a run and without the lock of the copy. An older file stays as it
    /// is: what is read is a migrated copy.
    ///
    /// # Errors
    /// If there is none, it was written by a newer version, is damaged, or storage fails.
    pub(crate) fn open_beside(path: &Path) -> Result<Self, StateError> {
        Self::read(Arc::new(schema::SCHEMA.open_beside(path)?))
    }

    /// Opens the file of a copy that no run has, only to read it: neither the file nor its folder changes.
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

    /// A second connection, to read while the first writes.
    ///
    /// # Errors
    /// If SQLite cannot open the file again.
    pub(crate) fn reader(&self) -> Result<Self, StateError> {
        match &self.beside {
            Some(beside) => Self::read(Arc::clone(beside)),
            None => Ok(Self::over(open_reader(&self.path, READER_CACHE_KIB)?, &self.path)),
        }
    }

    fn over(connection: Connection, path: &Path) -> Self {
        connection.set_prepared_statement_cache_capacity(64);
        Self { connection, path: path.to_owned(), waits: None, records_changes: false, beside: None }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn error(&self, source: rusqlite::Error) -> StateError {
        StateError::sqlite(&self.path, source)
    }
}

#[cfg(test)]
mod tests;
