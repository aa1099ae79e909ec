//! The steps on the names of a copy in a folder: giving, removing and moving them.

use std::{
    io::{self, Read},
    os::fd::OwnedFd,
    sync::{Arc, PoisonError},
};

use instep_store::{kind_at, sync_file_system, sync_group};
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, RenameFlags},
    io::Errno,
};

use super::{FolderStore, MOST_SYNCED_ONE_BY_ONE, touched::TouchedFolders};
use crate::{
    map::CopyPath,
    store::{CopyNames, Durability, NameKind, Obstacle, StagedName, StoreError},
};

impl FolderStore {
    fn names(&self) -> std::sync::MutexGuard<'_, TouchedFolders> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the folder of a path, and records it as touched. Paths are sorted, so the last folder is usually the
    /// next one.
    fn folder_of(&self, path: &CopyPath) -> Result<Arc<OwnedFd>, StoreError> {
        let folder = path.folder();
        let mut names = self.names();
        if let Some((last, fd)) = &names.last
            && last == folder
        {
            return Ok(Arc::clone(fd));
        }
        let fd =
            self.root.folder(folder).map_err(|error| StoreError::of("open the folder", folder, error))?;
        let fd = Arc::new(fd);
        names.touched.insert(folder.to_owned());
        names.last = Some((folder.to_owned(), Arc::clone(&fd)));
        Ok(fd)
    }

    /// Removes the folders that a removed file leaves empty, innermost first.
    fn remove_empty_folders(&self, path: &CopyPath) -> Result<(), StoreError> {
        for folder in path.folders().collect::<Vec<_>>().into_iter().rev() {
            let (above, name) = folder.rsplit_once('/').unwrap_or(("", folder));
            let failed = |error| StoreError::of("remove the folder", folder, error);
            // The system decides if the folder is empty, because a check could be outdated at the next call.
            match rustix::fs::unlinkat(self.root.folder(above).map_err(failed)?, name, AtFlags::REMOVEDIR) {
                Ok(()) => self.names().touched.insert(above.to_owned()),
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT | Errno::BUSY) => return Ok(()),
                Err(error) => return Err(failed(error.into())),
            };
        }
        Ok(())
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        match self.root.folder(folder) {
            Ok(fd) => Ok(rustix::fs::fsync(fd)?),
            // The folder was removed since, and the folder above it is touched too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            // The folder may have been replaced since. Wherever it is now, its names are on this file system.
            Err(error) if Obstacle::of(&error).is_some() => sync_file_system(&self.root),
            Err(error) => Err(error),
        }
    }
}

impl CopyNames for FolderStore {
    fn read(&self, path: &CopyPath) -> Result<Box<dyn Read + Send>, StoreError> {
        let file = self.root.file(path.as_str());
        Ok(Box::new(file.map_err(|error| StoreError::of("open", path.as_str(), error))?))
    }

    fn kind(&self, path: &str) -> Result<Option<NameKind>, StoreError> {
        // Paths are sorted, so the folder is usually open already.
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let last =
            self.names().last.as_ref().filter(|(last, _)| last == folder).map(|(_, fd)| Arc::clone(fd));
        last.map_or_else(|| self.root.kind(path), |fd| kind_at(fd, name))
            .map_err(|error| StoreError::of("look at", path, error))
    }

    fn make_folder(&self, folder: &str) -> Result<(), StoreError> {
        let mut touch = |made: &str| {
            let (above, _) = made.rsplit_once('/').unwrap_or(("", made));
            self.names().touched.insert(above.to_owned());
        };
        self.root
            .make_folder(folder, 0o777, &mut touch)
            .map_err(|error| StoreError::of("make the folder", folder, error))
    }

    fn expect_files(&self) -> Result<(), StoreError> {
        let failed = |error| self.failed("list", error);
        for entry in rustix::fs::Dir::read_from(&self.root).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !matches!(entry.file_name().to_bytes(), b"." | b".." | b".instep") {
                return Ok(());
            }
        }
        Err(StoreError::NotTheCopy { path: self.path.clone() })
    }

    fn place(&self, name: StagedName, path: &CopyPath) -> Result<(), StoreError> {
        let folder = self.folder_of(path)?;
        let failed = |error| StoreError::of("place", path.as_str(), error);
        // Most names are new. One call checks this and gives the name, so that nothing can come in between.
        if self.staging.place_new(name, &folder, path.name()).map_err(failed)? {
            return Ok(());
        }
        // A rename would replace a pipe or socket of another program (B13). A link may be replaced, because it is only
        // a name.
        let found = rustix::fs::statat(&*folder, path.name(), AtFlags::SYMLINK_NOFOLLOW);
        let kind = found.map_or(FileType::RegularFile, |found| FileType::from_raw_mode(found.st_mode));
        if !matches!(kind, FileType::RegularFile | FileType::Symlink | FileType::Directory) {
            return Err(StoreError::Blocked { path: path.as_str().to_owned(), by: Obstacle::NotAFile });
        }
        if let Some(backup) = &self.backup {
            backup.keep(&folder, path)?;
        }
        self.staging.place(name, folder, path.name()).map_err(failed)
    }

    fn remove(&self, path: &CopyPath, into: StagedName) -> Result<(), StoreError> {
        let folder = match self.folder_of(path) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(());
            }
            folder => folder?,
        };
        // A rename would move anything with this name into staging, also a folder of another program with all its
        // content, which would be lost when staging is emptied. Only files belong to the copy.
        let kind = kind_at(&*folder, path.name())
            .map_err(|error| StoreError::of("look at", path.as_str(), error))?;
        let blocked = |by| Err(StoreError::Blocked { path: path.as_str().to_owned(), by });
        match kind {
            None => return Ok(()),
            Some(NameKind::File) => {}
            Some(NameKind::Folder) => return blocked(Obstacle::Folder),
            Some(NameKind::Other) => return blocked(Obstacle::NotAFile),
        }
        if let Some(backup) = &self.backup {
            backup.keep(&folder, path)?;
        }
        match self.staging.take_out(folder, path.name(), into) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::of("remove", path.as_str(), error));
            }
            _ => {}
        }
        // The folder may be removed next, and files that are placed by a handle to it would be lost.
        self.names().last = None;
        self.remove_empty_folders(path)
    }

    fn move_within(&self, from: &CopyPath, to: &CopyPath, by: StagedName) -> Result<(), StoreError> {
        let folder = self.folder_of(from)?;
        let failed = |error: Errno| StoreError::of("move", from.as_str(), error);
        if from.as_str() != to.folder() {
            self.make_folder(to.folder())?;
            let target = self.folder_of(to)?;
            return rustix::fs::renameat(folder, from.name(), target, to.name()).map_err(failed);
        }
        // The folder that replaces the file contains it already, so that the file has a name at every instant.
        let by = by.to_string();
        rustix::fs::mkdirat(&*self.staging, &by, Mode::from_raw_mode(0o777)).map_err(failed)?;
        let new = rustix::fs::openat(&*self.staging, &by, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(failed)?;
        let linked =
            rustix::fs::linkat(&folder, from.name(), &new, to.name(), AtFlags::empty()).and_then(|()| {
                rustix::fs::renameat_with(&*self.staging, &by, &folder, from.name(), RenameFlags::EXCHANGE)
            });
        let moved = match linked {
            Ok(()) => rustix::fs::unlinkat(&*self.staging, &by, AtFlags::empty()),
            // The file system supports neither hard links nor an exchange of names.
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS | Errno::MLINK) => {
                rustix::fs::renameat(&folder, from.name(), &new, to.name())
                    .and_then(|()| rustix::fs::renameat(&*self.staging, &by, &folder, from.name()))
            }
            Err(error) => Err(error),
        };
        self.names().touched.insert(from.as_str().to_owned());
        moved.map_err(failed)
    }

    fn sync_names(&self) -> Result<(), StoreError> {
        let mut names = self.names();
        names.last = None;
        let touched = std::mem::take(&mut names.touched);
        drop(names);
        if self.options.durability == Durability::None {
            return Ok(());
        }
        sync_group(touched.iter(), MOST_SYNCED_ONE_BY_ONE, &self.root, |folder| self.sync_folder(folder))
            .map_err(|error| self.failed("sync", error))
    }

    fn sync_all(&self) -> Result<(), StoreError> {
        if self.options.durability == Durability::None { Ok(()) } else { self.sync_file_system() }
    }

    fn folds_names(&self) -> bool {
        self.folds_names
    }
}
