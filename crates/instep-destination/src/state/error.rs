//! The errors of a state. Failures of space or a disk are distinguished from others.

use std::{
    io,
    path::{Path, PathBuf},
};

pub(crate) use instep_store::database::DatabaseError;
use instep_store::database::is_storage_failure;

#[cfg(feature = "postgres")]
use super::postgres::PostgresError;

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
    /// SQLite failed for another reason, or the file is damaged.
    #[error("Cannot use the state {}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The reason that SQLite gives.
        source: rusqlite::Error,
    },
    /// The database of PostgreSQL that has the state cannot be used.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// A record has content that no version of instep writes.
    #[error(
        "The record {name:?} in {place} cannot be read ({what}): restore the state from a backup, or rebuild it from the copy"
    )]
    Record {
        /// The state, as [`ReadState::place`](super::ReadState::place) names it.
        place: String,
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
    /// The operator names one place for the state, and the copy has it in another.
    #[error("The state of this copy is in {place}: leave the place out, or choose another folder")]
    Elsewhere {
        /// The place.
        place: String,
    },
    /// The state is in a database that this program was built without.
    #[error("This program was built without PostgreSQL, which the state{} needs", place.as_ref().map(|place| format!(" {place}")).unwrap_or_default())]
    NoEngine {
        /// The place that the copy remembers.
        place: Option<String>,
    },
    /// The copy follows as many sets as it can. The further one was not added.
    #[error("The copy follows {most} sets already: use another folder for {uri}")]
    TooManySets {
        /// The set beyond the limit.
        uri: String,
        /// The most sets of a copy.
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

    /// Returns `true` if the database can be used and does not have the state.
    pub(crate) fn is_absence(&self) -> bool {
        #[cfg(feature = "postgres")]
        if let Self::Postgres(PostgresError::Missing { .. }) = self {
            return true;
        }
        false
    }

    /// Returns `true` if space or the disk is the cause (exit code 8).
    pub fn is_storage(&self) -> bool {
        match self {
            Self::Database(error) => error.is_storage_failure(),
            Self::Storage { .. } | Self::Scratch { .. } => true,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => false,
            Self::Sqlite { .. }
            | Self::Record { .. }
            | Self::Elsewhere { .. }
            | Self::NoEngine { .. }
            | Self::TooManySets { .. } => false,
        }
    }
}
