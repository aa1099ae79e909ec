//! Folders of copies that this user may not look into.

use std::{fs, io, path::Path};

use crate::Error;

/// Refuses the own folder of a copy if this user may not look into it. The folder would otherwise count as one without
/// a copy, and its files as unknown.
pub(super) fn refuse_hidden_state(own: &Path) -> Result<(), Error> {
    match fs::metadata(own.join(".")) {
        // A file in the place of the folder is reported when the folder is opened.
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(Error::Storage { action: "read", path: own.to_owned(), source: error.into() })
        }
        _ => Ok(()),
    }
}
