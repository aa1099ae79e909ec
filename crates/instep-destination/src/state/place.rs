//! The place of a state, and the ways to open it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    CopyState, ReadState, StateError,
    remembered::{self, RemoteState},
    sqlite::SqliteState,
};
#[cfg(feature = "postgres")]
use super::{
    JoinedPlan,
    postgres::{DatabaseCopy, PostgresState},
};
use crate::Shutdown;

/// The name of the file in the copy's own folder.
const FILE: &str = "state.sqlite";

/// The place of the state of a copy.
#[derive(Clone, Debug)]
pub(crate) enum StatePlace {
    /// An SQLite file in the folder of the copy.
    File(PathBuf),
    /// A copy in a PostgreSQL database, and the data that its own folder records.
    #[cfg(feature = "postgres")]
    Postgres(Box<DatabaseCopy>, Box<RemoteState>),
}

impl StatePlace {
    /// The files in a copy's own folder by which it is known.
    pub(crate) const FILES: [&str; 2] = [FILE, Self::NOTE];

    /// The file in a copy's own folder that records the place of a state elsewhere.
    pub(crate) const NOTE: &str = remembered::NAME;

    /// Returns `true` if a copy's own folder has a state, or records its place.
    pub(crate) fn is_in(own: &Path) -> bool {
        own.join(FILE).is_file() || RemoteState::is_in(own)
    }

    /// Returns the place of the state of the copy with this folder: the one at a URL, the one that the folder
    /// records, or the file in the folder.
    ///
    /// # Errors
    /// If the URL is not that of a state, or the copy has its state elsewhere.
    pub(crate) fn of(own: &Path, url: Option<&str>) -> Result<Self, StateError> {
        let file = own.join(FILE);
        match (RemoteState::read(own)?, url) {
            (None, None) => Ok(Self::File(file)),
            (None, Some(_)) if file.is_file() => {
                Err(StateError::Elsewhere { place: file.display().to_string() })
            }
            (remembered, url) => Self::remote(remembered, url),
        }
    }

    #[cfg(feature = "postgres")]
    fn remote(remembered: Option<RemoteState>, url: Option<&str>) -> Result<Self, StateError> {
        let name = || format!("{:032x}", rand::random::<u128>());
        let before = remembered.as_ref().map(|before| (before.copy.clone(), before.folder.clone()));
        let (copy, folder) = before.unwrap_or_else(|| (name(), name()));
        let url = url.or(remembered.as_ref().map(|before| before.state.as_str())).unwrap_or_default();
        let database = DatabaseCopy::at(url, &copy, &folder)?;
        let (recorded, copy) = database.remembered();
        let now = RemoteState::new(recorded.to_owned(), copy.to_owned(), folder);
        match remembered {
            Some(before) if !database.is_at(&before.state) || before.copy != now.copy => {
                Err(StateError::Elsewhere { place: before.state })
            }
            _ => Ok(Self::Postgres(Box::new(database), Box::new(now))),
        }
    }

    /// Returns the place of a state that is not begun anew if its database lost it.
    pub(crate) fn that_exists(self) -> Self {
        match self {
            Self::File(_) => self,
            #[cfg(feature = "postgres")]
            Self::Postgres(copy, remote) => Self::Postgres(Box::new(copy.that_exists()), remote),
        }
    }

    /// Returns the place for a run that knows that the former writer of the state has ended.
    pub(crate) fn after_former_writer(self) -> Self {
        match self {
            Self::File(_) => self,
            #[cfg(feature = "postgres")]
            Self::Postgres(copy, remote) => Self::Postgres(Box::new(copy.after_former_writer()), remote),
        }
    }

    /// Returns the place for a run that the shutdown may end: from then on it does not wait for a server.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "nothing waits for a file"))]
    pub(crate) fn until(self, shutdown: &Shutdown) -> Self {
        match self {
            Self::File(_) => self,
            #[cfg(feature = "postgres")]
            Self::Postgres(copy, remote) => Self::Postgres(Box::new(copy.until(shutdown.token())), remote),
        }
    }

    #[cfg(not(feature = "postgres"))]
    fn remote(remembered: Option<RemoteState>, _: Option<&str>) -> Result<Self, StateError> {
        Err(StateError::NoEngine { place: remembered.map(|before| before.state) })
    }

    /// Checks that a state can be created here, before anything of the copy is created.
    ///
    /// # Errors
    /// If a server refuses or cannot be reached, or has tables that this program does not know.
    pub(crate) fn probe(&self) -> Result<(), StateError> {
        match self {
            Self::File(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Postgres(copy, _) => Ok(PostgresState::probe(copy)?),
        }
    }

    /// Opens or creates the state for writing, migrating an older one. The copy's own folder records its place if it
    /// is elsewhere.
    ///
    /// # Errors
    /// If it was written by a newer version, is damaged, or storage or the server fails; in a database also if another
    /// run has it.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_variables, reason = "the state is a file in the folder")
    )]
    pub(crate) fn open(&self, own: &Path) -> Result<Box<dyn CopyState>, StateError> {
        match self {
            Self::File(path) => Ok(Box::new(SqliteState::open(path)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres(copy, remote) => {
                let state = PostgresState::open(copy)?;
                // The folder records the place before anything is committed, so that the state is found again.
                if RemoteState::read(own)?.as_ref() != Some(remote) {
                    remote.write(own)?;
                }
                Ok(Box::new(state))
            }
        }
    }

    /// Takes a share of the plan that another run has sealed; `None` if there is none, or no slice of it is free.
    ///
    /// # Errors
    /// If the tables are of another version, or the server refuses or fails.
    #[cfg(feature = "postgres")]
    pub(crate) fn join(&self) -> Result<Option<JoinedPlan>, StateError> {
        match self {
            Self::File(_) => Ok(None),
            Self::Postgres(copy, _) => PostgresState::join(copy),
        }
    }

    /// Removes a state that was just created and is empty. Failures are ignored.
    pub(crate) fn remove_new(&self, own: &Path) {
        match self {
            Self::File(_) => {
                for end in ["", "-wal", "-shm"] {
                    let _ = fs::remove_file(own.join(format!("{FILE}{end}")));
                }
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(copy, _) => {
                RemoteState::forget(own);
                PostgresState::remove_empty(copy);
            }
        }
    }

    /// Opens or creates a file.
    #[cfg(test)]
    pub(crate) fn open_file(path: &Path) -> Result<Box<dyn CopyState>, StateError> {
        Self::File(path.to_owned()).open(Path::new(""))
    }

    /// Opens the state only for reading, also beside a run and without the lock of the copy. It is not changed.
    ///
    /// # Errors
    /// If there is none, it was written by a newer version, is damaged, or storage or the server fails.
    pub(crate) fn open_beside(&self) -> Result<Box<dyn ReadState>, StateError> {
        match self {
            Self::File(path) => Ok(Box::new(SqliteState::open_beside(path)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres(copy, _) => Ok(Box::new(PostgresState::open_beside(copy)?)),
        }
    }

    /// Opens the state of a copy without a run, only for reading: neither it nor the folder of the copy changes.
    ///
    /// # Errors
    /// If there is none, it was written by a newer version, is damaged, or storage or the server fails.
    pub(crate) fn open_at_rest(&self) -> Result<Box<dyn ReadState>, StateError> {
        match self {
            Self::File(path) => Ok(Box::new(SqliteState::open_at_rest(path)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres(copy, _) => Ok(Box::new(PostgresState::open_beside(copy)?)),
        }
    }
}
