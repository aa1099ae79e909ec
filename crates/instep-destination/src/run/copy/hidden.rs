//! Folders of copies that this user may not look into.

use std::{fs, io, path::Path};

use crate::{Error, state::StatePlace};

/// Refuses the own folder of a copy if this user may not look into it, or if the disk fails for a file by which a copy is
/// known. The folder would otherwise count as one without a copy, and its files as unknown.
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
