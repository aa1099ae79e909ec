//! The documents that a folder has.

use std::{fs, io, path::Path};

use crate::{
    Error,
    render::{DOCUMENTS, ROBOTS, SOURCE_DESCRIPTION},
};

/// Returns the names of all documents of a folder, sorted. Hidden ones are staged.
pub(super) fn documents_in(folder: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    collect(folder, DOCUMENTS, &mut names).map_err(Error::read(folder.join(DOCUMENTS)))?;
    for name in [SOURCE_DESCRIPTION, ROBOTS] {
        match fs::metadata(folder.join(name)) {
            Ok(found) if found.is_file() => names.push(name.to_owned()),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => return Err(Error::read(folder.join(name))(error)),
        }
    }
    names.sort();
    Ok(names)
}

/// Adds the names of the files in a folder and those below it, except hidden ones.
fn collect(folder: &Path, below: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder.join(below))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with('.') {
            continue;
        }
        let (name, kind) = (format!("{below}/{name}"), entry.file_type()?);
        if kind.is_dir() {
            collect(folder, &name, names)?;
        } else if kind.is_file() {
            names.push(name);
        }
    }
    Ok(())
}
