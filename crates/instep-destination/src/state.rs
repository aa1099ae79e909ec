//! What is held, what is owed, and how far: SQLite in `DIR/.instep/`.
//!
//! One connection writes, that of the [`Committer`](crate::commit::Committer); any number read beside it
//! ([`State::reader`]). Rows are met a part at a time and paged by key, so memory does not grow with their number.

mod actions;
mod changes;
mod codec;
mod held;
mod intent;
mod marks;
mod meet;
mod origins;
mod owed;
mod record;
mod runs;
mod schema;
mod sets;
mod written;

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

pub(crate) use actions::Pushing;
pub use actions::{Action, ActionKind, Actions};
pub use marks::Marks;
pub use record::{Checkpoint, DocumentRecord, Facts, Held, Owed, PassedEntry, SetId, Wanted};
pub use runs::{Problem, Run, RunId};

pub(crate) use intent::{Ledger, Operation, Waits};
pub(crate) use record::HeldFile;

/// Why the state cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// A later version of the program wrote it (exit code 10).
    #[error("{} was written by a newer version (format {found}, this program knows {known}): use that version", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// The disk is full, read-only or failing (exit code 8).
    #[error("Storage failed for the state {}", path.display())]
    Storage {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// SQLite failed otherwise, or the file is damaged.
    #[error("Cannot use the state {}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// The copy that precedes a migration failed.
    #[error("The state could not be copied to {} before its migration", path.display())]
    Backup {
        /// The copy.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The copy follows as many sets as it can.
    #[error("The copy follows {most} sets already: use another folder for {uri}")]
    TooManySets {
        /// The set that came on top.
        uri: String,
        /// How many a copy takes.
        most: u8,
    },
}

impl StateError {
    pub(crate) fn sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(
                ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied,
            ) => Self::Storage { path, source },
            _ => Self::Sqlite { path, source },
        }
    }

    /// Whether space or the disk is the cause (exit code 8).
    pub fn is_storage(&self) -> bool {
        matches!(self, Self::Storage { .. } | Self::Backup { .. })
    }
}

/// The state of one copy.
#[derive(Debug)]
pub struct State {
    connection: Connection,
    path: PathBuf,
    waits: Option<Waits>,
    records_changes: bool,
}

impl State {
    /// Opens or makes the file, bringing an older one up to date.
    ///
    /// # Errors
    /// When it was written by a newer version, is damaged, or storage fails.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        let connection = Connection::open(path).map_err(|source| StateError::sqlite(path, source))?;
        let mut state = Self { connection, path: path.to_owned(), waits: None, records_changes: false };
        state.connect()?;
        schema::bring_up_to_date(&mut state.connection, path)?;
        Ok(state)
    }

    /// A second connection, to read while the first writes.
    ///
    /// # Errors
    /// When SQLite cannot open the file again.
    pub fn reader(&self) -> Result<Self, StateError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(&self.path, flags).map_err(|source| self.error(source))?;
        let reader = Self { connection, path: self.path.clone(), waits: None, records_changes: false };
        reader.tune(&[("cache_size", "-4096")])?;
        Ok(reader)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connect(&self) -> Result<(), StateError> {
        // The log is folded back every 8,000 pages: seldom enough that a group costs one sync of the log. Only an intent waits
        // for the disk, and with it all that was written before; what comes after the last one, folding makes durable.
        self.tune(&[
            ("journal_mode", "wal"),
            ("synchronous", "normal"),
            ("wal_autocheckpoint", "8000"),
            ("cache_size", "-8192"),
        ])
    }

    fn tune(&self, pragmas: &[(&str, &str)]) -> Result<(), StateError> {
        self.connection.busy_timeout(Duration::from_secs(30)).map_err(|source| self.error(source))?;
        self.connection.set_prepared_statement_cache_capacity(64);
        for (name, value) in pragmas {
            let set = self.connection.pragma_update_and_check(None, name, value, |_| Ok(()));
            set.or_else(
                |error| if error == rusqlite::Error::QueryReturnedNoRows { Ok(()) } else { Err(error) },
            )
            .map_err(|source| self.error(source))?;
        }
        Ok(())
    }

    fn error(&self, source: rusqlite::Error) -> StateError {
        StateError::sqlite(&self.path, source)
    }
}
