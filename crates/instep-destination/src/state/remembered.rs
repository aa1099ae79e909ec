//! The note in the folder of a copy whose state is elsewhere, by which later commands find the state.

#[cfg(feature = "postgres")]
use std::fs;
use std::path::Path;

use instep_store::versioned::{self, RecordFileError};
use serde::{Deserialize, Serialize};

use super::StateError;

const VERSION: u32 = 1;

/// The name of the file in the copy's own folder.
pub(super) const NAME: &str = "state.json";

/// The content of the note: the place of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteState {
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
        Self { state, copy, folder }
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
        versioned::read_file(&path, VERSION).map_err(|error| match error {
            RecordFileError::Io(source) => StateError::Scratch { path, source },
            RecordFileError::Content { what } => {
                StateError::Record { place: path.display().to_string(), name: "state".to_owned(), what }
            }
        })
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
        versioned::write_file(own, NAME, VERSION, self)
            .map_err(|source| StateError::Scratch { path: own.join(NAME), source })
    }
}
