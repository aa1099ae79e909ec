//! A folder that gets its name when it is complete, and a copy in this form. Bags use this folder, too.

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use instep_destination::HeldResource;
use instep_store::{parent_folder, sync_file_system};
use rustix::{
    fs::{FlockOperation, Timespec, Timestamps, UTIME_OMIT, flock},
    io::Errno,
};

use super::{
    Bytes, ExportForm, Exported,
    verified::{CopiedBytes, copy_verified},
};

/// A folder that is being filled, under a temporary name.
#[derive(Debug)]
pub(super) struct UnfinishedFolder {
    folder: PathBuf,
    pub(super) path: PathBuf,
    /// The mark, locked as long as this export runs: another one to the same folder must not remove it.
    _mark: File,
}

impl UnfinishedFolder {
    /// A file that marks the folder as ours until it is complete. No resource of a copy has a name like it.
    const MARK: &str = ".instep-export";

    /// Begins a folder that does not exist yet.
    ///
    /// Errors: something has its name, or it cannot be written.
    pub(super) fn begin(folder: &Path) -> anyhow::Result<Self> {
        if folder.exists() {
            bail!("{} is there already; name a folder that is not", folder.display());
        }
        let name = folder.file_name().with_context(|| format!("{} is not a name", folder.display()))?;
        let path = folder.with_file_name(format!("{}.unfinished", name.to_string_lossy()));
        if path.symlink_metadata().is_ok() {
            Self::remove_leftover(&path)?;
        }
        let failed = || format!("Cannot write {}", path.display());
        fs::create_dir_all(&path).with_context(failed)?;
        let mark = File::create_new(path.join(Self::MARK)).with_context(failed)?;
        // A filesystem without locks does not keep the export from being written.
        let _ = flock(&mark, FlockOperation::NonBlockingLockExclusive);
        Ok(Self { folder: folder.to_owned(), path, _mark: mark })
    }

    /// Removes the folder that a killed export has left. A folder without the mark belongs to somebody else and is
    /// removed only if it is empty.
    ///
    /// Errors: it has no mark and is not empty, another export writes it now, or it cannot be removed.
    fn remove_leftover(path: &Path) -> anyhow::Result<()> {
        let mark = path.join(Self::MARK);
        let is_export = mark.symlink_metadata().is_ok_and(|mark| mark.is_file());
        let is_locked =
            |mark: File| flock(&mark, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
        if is_export && File::open(&mark).is_ok_and(is_locked) {
            bail!("Another export writes {} now; wait for its end, or name another folder", path.display());
        }
        let removed = if is_export { fs::remove_dir_all(path) } else { fs::remove_dir(path) };
        removed.with_context(|| {
            format!("{} is in the way, and not an export that was interrupted: move it away", path.display())
        })
    }

    /// Copies a resource into a file of the folder. A resource with a fault leaves no file.
    ///
    /// Errors: the file cannot be written.
    pub(super) fn add(&self, name: &str, held: &HeldResource, bytes: Bytes) -> anyhow::Result<CopiedBytes> {
        let target = self.path.join(name);
        let failed = || format!("Cannot write {}", target.display());
        let made = fs::create_dir_all(target.parent().unwrap_or(&self.path));
        let mut out = match made.and_then(|()| File::create_new(&target)) {
            // With `--as-of`, two resources that the copy never held at the same time may have one path.
            Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotADirectory) => {
                return Ok(Err("another resource has its path".to_owned()));
            }
            out => out.with_context(failed)?,
        };
        let copied = copy_verified(held, bytes, &mut out, &target)?;
        match &copied {
            Ok(_) => {
                if let Some(modified) = held.metadata.lastmod {
                    let (seconds, nanos) = modified.instant();
                    let times = Timestamps {
                        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
                        last_modification: Timespec { tv_sec: seconds, tv_nsec: nanos.into() },
                    };
                    rustix::fs::futimens(&out, &times).with_context(failed)?;
                }
                out.sync_data().with_context(failed)?;
            }
            Err(_) => fs::remove_file(&target).with_context(failed)?,
        }
        Ok(copied)
    }

    /// Makes everything in the folder durable, and gives the folder its name.
    ///
    /// Errors: the disk fails, or the folder cannot be renamed.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        let mark = self.path.join(Self::MARK);
        fs::remove_file(&mark).with_context(|| format!("Cannot remove {}", mark.display()))?;
        let failed = || format!("Cannot write {}", self.folder.display());
        // Each file is synced as it is added, but its name and those of the folders are not: whoever removes the copy after
        // the export must find all of it after a power failure.
        File::open(&self.path).and_then(sync_file_system).with_context(failed)?;
        fs::rename(&self.path, &self.folder).with_context(failed)?;
        sync_folder_of(&self.folder).with_context(failed)
    }
}

/// Makes the name of a file or folder durable.
///
/// Errors: the disk fails.
pub(super) fn sync_folder_of(path: &Path) -> io::Result<()> {
    File::open(parent_folder(path))?.sync_all()
}

/// A copy as a folder: each resource under its path, with the Source's modification time.
#[derive(Debug)]
pub(crate) struct FolderWriter(UnfinishedFolder);

impl FolderWriter {
    /// Begins a folder that does not exist yet.
    ///
    /// Errors: something has its name, or it cannot be written.
    pub(crate) fn begin(folder: &Path) -> anyhow::Result<Self> {
        UnfinishedFolder::begin(folder).map(Self)
    }
}

impl ExportForm for FolderWriter {
    fn add(
        &mut self,
        resource: &Exported,
        held: &HeldResource,
        bytes: Bytes,
    ) -> anyhow::Result<Option<String>> {
        Ok(self.0.add(resource.path.as_str(), held, bytes)?.err())
    }

    fn finish(self: Box<Self>, _source: Option<&str>) -> anyhow::Result<()> {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o187_an_export_leaves_alone_what_another_one_is_writing() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("out");
        let first = UnfinishedFolder::begin(&folder).unwrap();
        fs::write(first.path.join("a.txt"), "a").unwrap();
        let refused = UnfinishedFolder::begin(&folder).unwrap_err().to_string();
        assert!(refused.contains("Another export writes"), "{refused}");
        assert!(first.path.join("a.txt").exists());
        // As a killed export leaves it: nobody holds the mark.
        drop(first);
        let second = UnfinishedFolder::begin(&folder).unwrap();
        assert!(!second.path.join("a.txt").exists());
        second.finish().unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }
}
