//! The place of a state, and the ways to open it.

use std::path::PathBuf;

use super::{CopyState, ReadState, StateError, sqlite::SqliteState};

/// The place of the state of a copy.
#[derive(Clone, Debug)]
pub(crate) enum StatePlace {
    /// An SQLite file.
    File(PathBuf),
}

impl StatePlace {
    /// Opens or makes the state to write it, bringing an older one up to date.
    ///
    /// # Errors
    /// If it was written by a newer version, is damaged, or storage fails.
    pub(crate) fn open(&self) -> Result<Box<dyn CopyState>, StateError> {
        match self {
            Self::File(path) => Ok(Box::new(SqliteState::open(path)?)),
        }
    }

    /// Opens the state only to read it, also beside a run and without the lock of the copy. It stays as it is.
    ///
    /// # Errors
    /// If there is none, it was written by a newer version, is damaged, or storage fails.
    pub(crate) fn open_beside(&self) -> Result<Box<dyn ReadState>, StateError> {
        match self {
            Self::File(path) => Ok(Box::new(SqliteState::open_beside(path)?)),
        }
    }

    /// Opens the state of a copy that no run has, only to read it: neither it nor the folder of the copy changes.
    ///
    /// # Errors
    /// If there is none, it was written by a newer version, is damaged, or storage fails.
    pub(crate) fn open_at_rest(&self) -> Result<Box<dyn ReadState>, StateError> {
        match self {
            Self::File(path) => Ok(Box::new(SqliteState::open_at_rest(path)?)),
        }
    }
}
