//! Backups: files that are replaced or removed, kept in a folder that the operator names.

use std::{
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
};

use instep_store::{RootFolder, kind_at};

use super::{NameKind, StoreError};
use crate::map::CopyPath;

/// The folder for files that are replaced or removed, each under its path in the copy.
#[derive(Debug)]
pub(super) struct Backup {
    root: RootFolder,
}

impl Backup {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let opened = RootFolder::open_or_make(path);
        let failed = |error| StoreError::io("open the backup folder", path.display().to_string(), error);
        Ok(Self { root: opened.map_err(failed)? })
    }

    /// Keeps the file with a name, replacing an earlier backup. Does nothing if it is not a file.
    pub(super) fn keep(&self, folder: &OwnedFd, path: &CopyPath) -> Result<(), StoreError> {
        let failed = |error| StoreError::of("back up", path.as_str(), error);
        if kind_at(folder, path.name()).map_err(failed)? != Some(NameKind::File) {
            return Ok(());
        }
        self.root.make_folder(path.folder(), 0o777, &mut |_| {}).map_err(failed)?;
        let target = self.root.folder(path.folder()).map_err(failed)?;
        // A link cannot replace a file, so an earlier backup is removed first.
        self.root.remove_file(path.as_str()).map_err(failed)?;
        // A hard link and not a rename, so that the file keeps its name until its successor takes it (invariant 4).
        match rustix::fs::linkat(folder, path.name(), &target, path.name(), AtFlags::empty()) {
            Ok(()) => Ok(()),
            Err(Errno::XDEV | Errno::PERM | Errno::MLINK | Errno::OPNOTSUPP) => copy(folder, &target, path),
            Err(error) => Err(failed(error.into())),
        }
    }
}

/// Copies a file to another file system, and syncs it before the original is removed.
fn copy(folder: &OwnedFd, target: &OwnedFd, path: &CopyPath) -> Result<(), StoreError> {
    let open = |at: &OwnedFd, flags| {
        rustix::fs::openat(
            at,
            path.name(),
            flags | OFlags::CLOEXEC | OFlags::NOFOLLOW,
            Mode::from_raw_mode(0o666),
        )
        .map(std::fs::File::from)
        .map_err(|error| StoreError::of("back up", path.as_str(), error))
    };
    let mut from = open(folder, OFlags::RDONLY)?;
    let mut to = open(target, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
    std::io::copy(&mut from, &mut to)
        .and_then(|_| to.sync_data())
        .map_err(|error| StoreError::io("back up", path.as_str(), error))
}

/// Refuses backups among the resources of a copy: a backup could have the name of a resource, and overwrite it (B21).
pub(super) fn refuse_inside(backups: &Path, copy: &Path) -> Result<(), StoreError> {
    let (within, around) = (resolved(backups), resolved(copy));
    if !within.starts_with(&around) && !around.starts_with(&within) {
        return Ok(());
    }
    Err(StoreError::BackupsInCopy { backups: backups.to_owned(), copy: copy.to_owned() })
}

/// Returns a path without symbolic links, even if its last steps do not exist yet.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let known = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, known)) = known else { return path };
    path.strip_prefix(above).map_or_else(|_| path.clone(), |rest| known.join(rest))
}
