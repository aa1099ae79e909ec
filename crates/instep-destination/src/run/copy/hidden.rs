//! Folders of copies that this user may not look into.

use std::{fs, io, path::Path};

use crate::{Error, state::StatePlace};

/// Refuses the own folder of a copy if it cannot be looked into, as that of another user, or if the disk fails for a file
/// in it by which the copy is known: the copy would be taken for a folder without one, and its files for unknown ones.
pub(super) fn refuse_hidden_state(own: &Path) -> Result<(), Error> {
    look_at(&own.join("."), own)?;
    StatePlace::FILES.iter().map(|name| own.join(name)).try_for_each(|file| look_at(&file, &file))
}

fn look_at(place: &Path, shown: &Path) -> Result<(), Error> {
    match fs::metadata(place) {
        // A file in the place of the folder is reported when the folder is opened.
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(Error::Storage { action: "read", path: shown.to_owned(), source: error.into() })
        }
        _ => Ok(()),
    }
}
