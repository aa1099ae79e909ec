use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use resourcesync::Algorithm;

use super::bitstream::{Hashing, strongest};
use crate::{
    Error,
    catalogue::{ChangeRecord, Snapshot, State},
    content::Holdings,
};

/// States of resources that a change has led to, by their digest, until a package has them. They cost as much disk as
/// the changed resources are large.
#[derive(Clone, Debug)]
pub(crate) struct States {
    folder: PathBuf,
}

impl States {
    pub(crate) fn new(state: &Path) -> Self {
        Self { folder: state.join("states") }
    }

    /// Copies the state after a change, if the resource still has it.
    pub(crate) fn keep(
        &self,
        change: &ChangeRecord,
        holdings: &Holdings,
        snapshot: &Snapshot,
    ) -> Result<(), Error> {
        let Some((path, algorithm)) = self.path(&change.state).filter(|(path, _)| !path.exists()) else {
            return Ok(());
        };
        let resource = holdings.find(snapshot, change.uri.as_str())?;
        let Some(Ok(file)) = resource.map(|resource| holdings.open(&resource)) else { return Ok(()) };
        fs::create_dir_all(&self.folder).map_err(Error::write(&self.folder))?;
        let staged = path.with_extension("new");
        let copy = || -> io::Result<bool> {
            let mut hashing = Hashing::new(file, std::slice::from_ref(&algorithm));
            io::copy(&mut hashing, &mut File::create(&staged)?)?;
            Ok(hashing.finish().1.get(&algorithm) == change.state.digests.get(&algorithm))
        };
        match copy().map_err(Error::write(&staged))? {
            true => fs::rename(&staged, &path).map_err(Error::write(&path)),
            false => fs::remove_file(&staged).map_err(Error::write(&staged)),
        }
    }

    /// Where the bytes of a state are; none where they are not kept.
    pub(crate) fn find(&self, state: &State) -> Option<PathBuf> {
        self.path(state).map(|(path, _)| path).filter(|path| path.exists())
    }

    /// Forgets all: packages have them.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::write(&self.folder)(error)),
            _ => Ok(()),
        }
    }

    fn path(&self, state: &State) -> Option<(PathBuf, Algorithm)> {
        let algorithm = strongest(state)?;
        let digest = state.digests.get(&algorithm)?.to_string().replace(':', "-");
        Some((self.folder.join(digest), algorithm))
    }
}
