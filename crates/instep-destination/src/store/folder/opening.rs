//! Opens a copy, either to work in it or to read it without leaving a trace.

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex},
};

use instep_store::{Lock, LockError, RootFolder, Staging};

use super::{FolderOptions, FolderStore, OWN, STAGING};
use crate::store::{
    StoreError,
    backup::{self, Backup},
    folding::folds_names,
    partial::PartsInUse,
};

impl FolderStore {
    /// Opens or creates a copy and locks it. Only `.instep` is created in it.
    ///
    /// # Errors
    /// If another run holds the lock, `.instep` is no folder, or storage fails.
    pub(crate) fn open(path: &Path, options: FolderOptions) -> Result<Self, StoreError> {
        let shown = path.display().to_string();
        let io = |doing, error| StoreError::io(doing, shown.as_str(), error);
        // Checked before anything is created, so that a wrong option leaves nothing behind.
        if let Some(backups) = &options.backups {
            backup::refuse_inside(backups, path)?;
        }
        let ours = |error| StoreError::of("open", &path.join(OWN).display().to_string(), error);
        let open = || -> Result<_, StoreError> {
            let root = RootFolder::open_or_make(path).map_err(|error| io("open", of_folder(path, error)))?;
            root.make_folder(OWN, 0o700, &mut |_| {}).map_err(ours)?;
            let own = root.root(OWN).map_err(ours)?;
            Ok((root, own))
        };
        let (root, own, lock) = loop {
            let (root, own) = open()?;
            // The lock is taken before staging is opened, because another run may be placing files from there.
            match Lock::take(&own, &options.owner) {
                // The end of a first run that failed has removed the folder: it is created again.
                Err(LockError::Removed) => {}
                lock => break (root, own, lock.map_err(|error| refused(path, error))?),
            }
        };
        let staging = Staging::open(&own, STAGING).map_err(ours)?;
        let folds_names = folds_names(&staging).map_err(|error| io("write below", error))?;
        let backup = options.backups.as_deref().map(Backup::open).transpose()?;
        let (staging, lock, names) = (Arc::new(staging), Mutex::new(Some(lock)), Mutex::default());
        let (path, parts) = (path.to_owned(), PartsInUse::default());
        Ok(Self { path, root, staging, parts, options, backup, folds_names, names, lock })
    }

    /// Opens a copy for reading. Files are staged in another folder, and the copy is not changed; if it does not
    /// exist, that folder replaces it.
    ///
    /// # Errors
    /// If a run has the copy, or storage fails.
    pub(crate) fn open_beside(
        path: &Path,
        scratch: &Path,
        options: FolderOptions,
    ) -> Result<Self, StoreError> {
        let failed = |doing, path: &Path, error| StoreError::io(doing, path.display().to_string(), error);
        let aside = RootFolder::open(scratch).map_err(|error| failed("open", scratch, error))?;
        let staging =
            Staging::open(&aside, STAGING).map_err(|error| failed("write below", scratch, error))?;
        let root = match RootFolder::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => aside,
            root => root.map_err(|error| failed("open", path, of_folder(path, error)))?,
        };
        let lock = match root.root(OWN) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            own => {
                let own = own
                    .map_err(|error| StoreError::of("open", &path.join(OWN).display().to_string(), error))?;
                Lock::take_to_read(&own).map_err(|error| refused(path, error))?
            }
        };
        let (staging, lock, names) = (Arc::new(staging), Mutex::new(lock), Mutex::default());
        let (path, folds_names, parts) = (path.to_owned(), false, PartsInUse::default());
        Ok(Self { path, root, staging, parts, options, backup: None, folds_names, names, lock })
    }
}

fn refused(copy: &Path, error: LockError) -> StoreError {
    match error {
        LockError::Held { holder } => StoreError::Locked { path: copy.to_owned(), owner: holder },
        LockError::Io(source) => StoreError::io("lock", copy.display().to_string(), source),
        other => StoreError::io(
            "lock",
            copy.join(OWN).join(Lock::NAME).display().to_string(),
            io::Error::other(other),
        ),
    }
}

/// Returns an error that says so if the copy is not a folder, and the given error otherwise.
fn of_folder(path: &Path, error: io::Error) -> io::Error {
    if path.exists() && !path.is_dir() {
        io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder")
    } else {
        error
    }
}
