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
    let single = [SOURCE_DESCRIPTION, ROBOTS].into_iter().filter(|name| folder.join(name).is_file());
    names.extend(single.map(str::to_owned));
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
