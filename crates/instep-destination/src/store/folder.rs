//! A copy in a folder of the file system: the steps of a commit, all beneath the folder and through no link.

mod names;
mod opening;
mod options;
mod touched;

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use instep_store::{DiskSpace, Lock, RootFolder, Staging, free_space, sync_file_system, sync_group};
use resourcesync::{Algorithm, Hasher};

use super::{
    Durability, StagedName, StagingArea, StagingFile, StoreError,
    backup::Backup,
    folder_sink::{FolderStagingSink, OWN, STAGING, shown},
    partial::{self, PartsInUse},
};

pub(crate) use options::FolderOptions;
use touched::TouchedFolders;

/// The most files or folders that are synced separately. If there are more, their file system is synced, so that a
/// group waits for the disk at most six times, with any number of files and folders.
const MOST_SYNCED_ONE_BY_ONE: usize = 2;

/// The number of staged files between two checks of the free space.
const STAGED_BETWEEN_LOOKS: u64 = 32;

/// A copy in a folder of the file system, locked while this value lives.
#[derive(Debug)]
pub(crate) struct FolderStore {
    path: PathBuf,
    root: RootFolder,
    staging: Arc<Staging>,
    parts: PartsInUse,
    options: FolderOptions,
    backup: Option<Backup>,
    folds_names: bool,
    names: Mutex<TouchedFolders>,
    lock: Mutex<Option<Lock>>,
}

impl FolderStore {
    /// Returns the folder of everything in the copy that is not a resource, such as its state.
    pub(crate) fn own_folder(&self) -> PathBuf {
        self.path.join(OWN)
    }

    fn check_reserve(&self, number: u64) -> Result<(), StoreError> {
        if !number.is_multiple_of(STAGED_BETWEEN_LOOKS) && number > 1 {
            return Ok(());
        }
        let space = self.space()?;
        // The reserve leaves space for files staged between two checks.
        if space.usable() > 0 { Ok(()) } else { Err(StoreError::reserve_reached(space)) }
    }

    fn space(&self) -> Result<DiskSpace, StoreError> {
        free_space(&self.root, self.options.reserve)
            .map_err(|error| self.failed("read the free space of", error))
    }

    /// Returns the free bytes on the disk of the copy; `None` if the system does not report them.
    pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
        let space = rustix::fs::statvfs(path).ok().filter(|space| space.f_blocks > 0)?;
        Some(space.f_bavail.saturating_mul(space.f_frsize))
    }

    /// Returns the error for a failed call that concerns the entire copy.
    fn failed(&self, doing: &'static str, error: impl Into<io::Error>) -> StoreError {
        StoreError::of(doing, &self.path.display().to_string(), error)
    }

    fn sync_file_system(&self) -> Result<(), StoreError> {
        sync_file_system(&self.root).map_err(|error| self.failed("sync", error))
    }

    fn sink(&self, file: File, name: StagedName) -> FolderStagingSink {
        let (staging, parts) = (Arc::clone(&self.staging), self.parts.clone());
        FolderStagingSink::new(file, name, staging, parts, self.options.reserve)
    }
}

impl StagingArea for FolderStore {
    fn let_go(&self) {
        self.staging.forget_recycled();
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn stage(&self, algorithms: &[Algorithm]) -> Result<StagingFile, StoreError> {
        let staged = self.staging.create();
        let (name, file) = staged.map_err(|error| StoreError::of("write below", STAGING, error))?;
        // The file is created first, because its number determines if the free space is checked.
        self.check_reserve(name.get()).inspect_err(|_| self.discard(&[name]))?;
        Ok(StagingFile::new(Box::new(self.sink(file, name)), name, algorithms))
    }

    fn resume(
        &self,
        uri: &str,
        algorithms: &[Algorithm],
        will_verify: bool,
    ) -> Result<Option<(StagingFile, String)>, StoreError> {
        let name = self.fresh_name();
        let Some(part) = self.parts.take(uri) else { return Ok(None) };
        let Some((mut file, validator)) = partial::reopen(&self.staging, part.name(), will_verify)? else {
            return Ok(None);
        };
        let mut hasher = Hasher::new(algorithms);
        let length = hasher
            .take_all(&mut file, &mut vec![0; 1 << 16])
            .map_err(|error| StoreError::io("read", part.name(), error))?;
        let sink = Box::new(self.sink(file, name).continuing(part));
        Ok(Some((StagingFile::resumed(sink, name, hasher, length), validator)))
    }

    fn open_staged(&self, name: StagedName) -> Result<File, StoreError> {
        self.staging.read(name).map_err(|error| StoreError::of("open", &shown(name), error))
    }

    fn is_staged(&self, name: StagedName) -> Result<bool, StoreError> {
        self.staging.has(name).map_err(|error| StoreError::of("look at", &shown(name), error))
    }

    fn sync_staged(&self, names: &[StagedName]) -> Result<(), StoreError> {
        if self.options.durability == Durability::None {
            return Ok(());
        }
        sync_group(names.iter(), MOST_SYNCED_ONE_BY_ONE, &self.root, |name| self.staging.sync(*name))
            .map_err(|error| self.failed("sync", error))
    }

    fn discard(&self, names: &[StagedName]) {
        for name in names {
            // A failure is ignored, because the next start removes the file.
            let _ = self.staging.discard(*name);
        }
    }

    fn recycle(&self, names: &[StagedName]) {
        for name in names {
            let _ = self.staging.recycle(*name);
        }
    }

    fn sweep(&self) -> Result<(), StoreError> {
        self.staging
            .clear(|name| partial::is_worth_keeping(&self.staging, name))
            .map_err(|error| StoreError::of("empty", STAGING, error))
    }

    fn fresh_name(&self) -> StagedName {
        self.staging.fresh_name()
    }

    fn free_bytes(&self) -> Result<Option<u64>, StoreError> {
        Ok(Some(self.space()?.usable()))
    }
}
