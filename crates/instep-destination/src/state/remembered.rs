//! The note in the folder of a copy whose state is elsewhere, by which later commands find the state.

#[cfg(feature = "postgres")]
use std::io::Write as _;
use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize};

use super::StateError;

const VERSION: u32 = 1;

/// The name of the file in the copy's own folder.
pub(super) const NAME: &str = "state.json";

/// The content of the note: the place of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteState {
    version: u32,
    /// Its URL, without a password.
    pub(super) state: String,
    /// The name of the copy there.
    pub(super) copy: String,
    /// A unique name of the folder. A run that has the lock of the folder knows that earlier runs from this folder are
    /// dead.
    pub(super) folder: String,
}

impl RemoteState {
    /// Returns the note for a state.
    #[cfg(feature = "postgres")]
    pub(super) fn new(state: String, copy: String, folder: String) -> Self {
        Self { version: VERSION, state, copy, folder }
    }

    /// Returns `true` if a copy's own folder has a note.
    pub(super) fn is_in(own: &Path) -> bool {
        own.join(NAME).is_file()
    }

    /// Reads the note of a copy's own folder; `None` if the state is in the folder.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn read(own: &Path) -> Result<Option<Self>, StateError> {
        let path = own.join(NAME);
        let text = match fs::read(&path) {
            // A file instead of the folder is reported when the folder is opened.
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

    /// Removes the note of a copy's own folder. A failure is ignored.
    #[cfg(feature = "postgres")]
    pub(super) fn forget(own: &Path) {
        let _ = fs::remove_file(own.join(NAME));
    }

    /// Writes the note into a copy's own folder, replacing an existing one.
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
