//! The note in the folder of a copy of a state that lies elsewhere: every later command finds it there.

#[cfg(feature = "postgres")]
use std::io::Write as _;
use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize};

use super::StateError;

const VERSION: u32 = 1;

/// The name of the file in the copy's own folder.
const NAME: &str = "state.json";

/// A state that lies elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteState {
    version: u32,
    /// Its URL, without a password.
    pub(super) state: String,
    /// The name of the copy there.
    pub(super) copy: String,
    /// A name that no other folder has: whoever has its lock knows that earlier runs over it are dead.
    pub(super) folder: String,
}

impl RemoteState {
    /// Creates what is remembered of a state.
    #[cfg(feature = "postgres")]
    pub(super) fn new(state: String, copy: String, folder: String) -> Self {
        Self { version: VERSION, state, copy, folder }
    }

    /// Returns `true` if a copy's own folder remembers one.
    pub(super) fn is_in(own: &Path) -> bool {
        own.join(NAME).is_file()
    }

    /// Reads what a copy's own folder remembers; `None` if the state lies in the folder.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn read(own: &Path) -> Result<Option<Self>, StateError> {
        let path = own.join(NAME);
        let text = match fs::read(&path) {
            // A file in the place of the folder is named by whoever opens the folder.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            text => text.map_err(|source| StateError::Scratch { path: path.clone(), source })?,
        };
        let damaged = |what: String| {
            let place = path.display().to_string();
            StateError::Record { place, name: "state".to_owned(), what }
        };
        let read: Self = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        match read.version {
            VERSION => Ok(Some(read)),
            version => Err(damaged(format!("it has version {version}, this program knows {VERSION}"))),
        }
    }

    /// Removes what a copy's own folder remembers, as far as that can be.
    #[cfg(feature = "postgres")]
    pub(super) fn forget(own: &Path) {
        let _ = fs::remove_file(own.join(NAME));
    }

    /// Writes it into a copy's own folder, in place of what is there.
    ///
    /// # Errors
    /// If the folder cannot be written.
    #[cfg(feature = "postgres")]
    pub(super) fn write(&self, own: &Path) -> Result<(), StateError> {
        let path = own.join(NAME);
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(own)?;
            file.write_all(serde_json::to_string(self)?.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            fs::File::open(own)?.sync_all()
        };
        write().map_err(|source| StateError::Scratch { path: path.clone(), source })
    }
}
