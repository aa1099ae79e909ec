//! Reasons why a file cannot be used.

use std::{
    error::Error,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::ErrorCode;

/// A database that cannot be used. Nothing was changed in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The file cannot be opened, made or read: it is no database, or the disk refuses.
    #[error("Cannot open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The reason that SQLite gives.
        source: rusqlite::Error,
    },
    /// A newer version of the program wrote it.
    #[error("{} was written by a newer version (format {found}, this program knows {known}): use that version", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// It has the mark of another program, and is left as it is.
    #[error("{} is not a file of instep: move it away, or name another folder", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The copy that precedes a migration cannot be written.
    #[error("Cannot copy the older version to {}", path.display())]
    Backup {
        /// The copy.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The statements that lead to the newest version failed.
    #[error("Cannot migrate {} from format {from} to the present one", path.display())]
    Migration {
        /// The file.
        path: PathBuf,
        /// The version that it still has.
        from: u32,
        /// The reason that SQLite gives.
        source: rusqlite::Error,
    },
}

impl DatabaseError {
    pub(super) fn opening(path: &Path) -> impl Fn(rusqlite::Error) -> Self {
        move |source| Self::Open { path: path.to_owned(), source }
    }

    /// Returns the file, or the copy of it, that is concerned.
    pub fn path(&self) -> &Path {
        match self {
            Self::Open { path, .. }
            | Self::Newer { path, .. }
            | Self::Foreign { path }
            | Self::Backup { path, .. }
            | Self::Migration { path, .. } => path,
        }
    }

    /// Returns `true` if the file cannot be opened, perhaps only because no file can be made beside it.
    pub(super) fn is_refused_writing(&self) -> bool {
        let Self::Open { source, .. } = self else { return false };
        matches!(source.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
    }

    /// Returns `true` if the disk is full, read-only, failing or out of reach, and `false` for faults of the file's
    /// content.
    pub fn is_storage_failure(&self) -> bool {
        match self {
            Self::Open { source, .. } | Self::Migration { source, .. } => is_storage_failure(source),
            Self::Backup { .. } => true,
            Self::Newer { .. } | Self::Foreign { .. } => false,
        }
    }
}

/// Returns a cause of an error as one of SQLite; `None` if it is another one. An error that several threads report is shared.
pub(crate) fn sqlite_error<'e>(cause: &'e (dyn Error + 'static)) -> Option<&'e rusqlite::Error> {
    let shared = || cause.downcast_ref::<Arc<rusqlite::Error>>().map(|shared| &**shared);
    cause.downcast_ref::<rusqlite::Error>().or_else(shared)
}

/// Returns `true` if the reason of an error is that SQLite may not write a file, or one that it needs beside it.
pub fn is_read_only(error: &(dyn Error + 'static)) -> bool {
    let is_it = |fault: &rusqlite::Error| fault.sqlite_error_code() == Some(ErrorCode::ReadOnly);
    sqlite_error(error).is_some_and(is_it) || error.source().is_some_and(is_read_only)
}

/// Returns `true` if an error of SQLite means that the disk is full, read-only, failing or out of reach, and `false`
/// for faults of the file's content.
pub fn is_storage_failure(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
        )
    )
}
