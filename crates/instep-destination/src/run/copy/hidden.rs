//! Folders of copies that this user may not look into.

use std::{fs, io, path::Path};

use crate::Error;

/// Refuses the own folder of a copy if it cannot be looked into, as that of another user: the copy would be taken for a
/// folder without one, and its files for unknown ones.
pub(super) fn refuse_hidden_state(own: &Path) -> Result<(), Error> {
    match fs::metadata(own.join(".")) {
        // A file in the place of the folder is reported when the folder is opened.
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(Error::Storage { action: "read", path: own.to_owned(), source: error.into() })
        }
        _ => Ok(()),
    }
}
