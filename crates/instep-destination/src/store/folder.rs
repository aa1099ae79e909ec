use std::{
    collections::BTreeSet,
    fs::File,
    io::Read,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use resourcesync::{Algorithm, Hasher};
use rustix::{
    fs::{AtFlags, Mode, OFlags, RenameFlags},
    io::Errno,
};

use super::{
    Durability, NameKind, StagedName, StagingFile, Store, StoreError,
    backup::Backup,
    beneath::{Root, explain, kind_at},
    folder_sink::FolderSink,
    lock::Lock,
    own::{own_folder, probe_folding},
    partial,
};
use crate::map::CopyPath;

/// The folder of everything that is ours in a copy.
const OWN: &str = ".instep";
const STAGING: &str = "staging";

/// Up to so many files or folders each is synced by itself; more are synced with their file system: a group waits for the disk
/// six times at most, however many files it has and wherever they lie.
const MOST_SYNCED_ONE_BY_ONE: usize = 2;

/// Free space is looked at once in so many staged files.
const STAGED_BETWEEN_LOOKS: u64 = 32;

/// How a folder is used as a copy.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FolderOptions {
    /// How much a commit waits for the disk.
    pub durability: Durability,
    /// Bytes to leave free; none for 1 % of the disk, at most 1 GiB.
    pub reserve: Option<u64>,
    /// Where files go that are replaced or removed.
    pub backups: Option<PathBuf>,
    /// What the lock says about this run.
    pub owner: String,
}

impl FolderOptions {
    /// Durable by groups, no backups.
    pub fn new() -> Self {
        Self { owner: format!("process {}", std::process::id()), ..Self::default() }
    }
}

/// A copy in a folder of the file system, locked while this value lives.
#[derive(Debug)]
pub struct FolderStore {
    path: PathBuf,
    root: Root,
    staging: Arc<OwnedFd>,
    options: FolderOptions,
    backup: Option<Backup>,
    folds_names: bool,
    next: AtomicU64,
    names: Mutex<Names>,
    lock: Mutex<Option<Lock>>,
}

/// Which folders have names to sync, and the one that was used last.
#[derive(Debug, Default)]
struct Names {
    touched: BTreeSet<String>,
    last: Option<(String, Arc<OwnedFd>)>,
}

impl FolderStore {
    /// Opens or makes a copy and locks it. Nothing but `.instep` is made in it.
    ///
    /// # Errors
    /// When another run holds the lock, `.instep` is no folder, or storage fails.
    pub fn open(path: &Path, options: FolderOptions) -> Result<Self, StoreError> {
        let io = |doing, error| StoreError::io(doing, path.display().to_string(), error);
        std::fs::create_dir_all(path).map_err(|error| io("make", error))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| io("open", error.into()))?;
        let root = Root::new(fd);
        let own = own_folder(root.fd(), OWN)?;
        let lock = Lock::take(&own, path, &options.owner)?;
        let staging = Arc::new(own_folder(&own, STAGING)?);
        let folds_names = probe_folding(&staging)?;
        let backup = options.backups.as_deref().map(Backup::open).transpose()?;
        let names = Mutex::default();
        let path = path.to_owned();
        let next = AtomicU64::new(1);
        let lock = Mutex::new(Some(lock));
        Ok(Self { path, root, staging, options, backup, folds_names, next, names, lock })
    }

    /// The folder of everything that is ours: state, plan.
    pub fn own_folder(&self) -> PathBuf {
        self.path.join(OWN)
    }

    fn names(&self) -> std::sync::MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder a path lies in, noted as touched. Paths come sorted, so the last folder is mostly the next one.
    fn folder_of(&self, path: &CopyPath) -> Result<Arc<OwnedFd>, StoreError> {
        let folder = path.folder();
        let mut names = self.names();
        if let Some((last, fd)) = &names.last
            && last == folder
        {
            return Ok(Arc::clone(fd));
        }
        let fd = Arc::new(self.root.folder(folder)?);
        names.touched.insert(folder.to_owned());
        names.last = Some((folder.to_owned(), Arc::clone(&fd)));
        Ok(fd)
    }

    /// Removes the folders that a removed file leaves empty, innermost first.
    fn remove_empty_folders(&self, path: &CopyPath) -> Result<(), StoreError> {
        for folder in path.folders().collect::<Vec<_>>().into_iter().rev() {
            let (above, name) = folder.rsplit_once('/').unwrap_or(("", folder));
            match rustix::fs::unlinkat(self.root.folder(above)?, name, AtFlags::REMOVEDIR) {
                Ok(()) => self.names().touched.insert(above.to_owned()),
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT | Errno::BUSY) => return Ok(()),
                Err(error) => return Err(explain("remove the folder", folder, error)),
            };
        }
        Ok(())
    }

    fn check_reserve(&self, number: u64) -> Result<(), StoreError> {
        if !number.is_multiple_of(STAGED_BETWEEN_LOOKS) && number > 1 {
            return Ok(());
        }
        let (free, reserve) = self.space()?;
        if free <= reserve { Err(StoreError::Reserve { free, reserve }) } else { Ok(()) }
    }

    fn space(&self) -> Result<(u64, u64), StoreError> {
        const MOST_RESERVED: u64 = 1 << 30;
        let space = rustix::fs::fstatvfs(self.root.fd())
            .map_err(|error| explain("read the free space of", &self.path.display().to_string(), error))?;
        let share = space.f_blocks.saturating_mul(space.f_frsize) / 100;
        Ok((
            space.f_bavail.saturating_mul(space.f_frsize),
            self.options.reserve.unwrap_or_else(|| share.min(MOST_RESERVED)),
        ))
    }

    /// Bytes that are free where a copy lies, if that can be told.
    pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
        let space = rustix::fs::statvfs(path).ok()?;
        Some(space.f_bavail.saturating_mul(space.f_frsize))
    }

    fn sync_file_system(&self) -> Result<(), StoreError> {
        rustix::fs::syncfs(self.root.fd())
            .map_err(|error| explain("sync", &self.path.display().to_string(), error))
    }

    fn sink(&self, file: File, name: StagedName) -> Box<FolderSink> {
        Box::new(FolderSink::new(file, name, Arc::clone(&self.staging)))
    }
}

impl Store for FolderStore {
    fn let_go(&self) {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn stage(&self, algorithms: &[Algorithm]) -> Result<StagingFile, StoreError> {
        loop {
            let name = self.fresh_name();
            self.check_reserve(name.0)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            match rustix::fs::openat(&self.staging, name.entry(), flags, Mode::from_raw_mode(0o666)) {
                Ok(fd) => return Ok(StagingFile::new(self.sink(fd.into(), name), name, algorithms)),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(explain("stage", &name.to_string(), error)),
            }
        }
    }

    fn resume(
        &self,
        uri: &str,
        algorithms: &[Algorithm],
    ) -> Result<Option<(StagingFile, String)>, StoreError> {
        let name = self.fresh_name();
        let part = partial::name_for(uri);
        let Some((mut file, validator)) = partial::reopen(&self.staging, &part, name)? else {
            return Ok(None);
        };
        let mut hasher = Hasher::new(algorithms);
        let length = hasher
            .take_all(&mut file, &mut vec![0; 1 << 16])
            .map_err(|error| StoreError::io("read", &part, error))?;
        Ok(Some((StagingFile::resumed(self.sink(file, name), name, hasher, length), validator)))
    }

    fn read(&self, path: &CopyPath) -> Result<Box<dyn Read + Send>, StoreError> {
        Ok(Box::new(self.root.file(path.as_str())?))
    }

    fn kind(&self, path: &str) -> Result<Option<NameKind>, StoreError> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let last =
            self.names().last.as_ref().filter(|(last, _)| last == folder).map(|(_, fd)| Arc::clone(fd));
        match last.map(|fd| kind_at(fd, name)) {
            Some(Err(Errno::NOENT)) => Ok(None),
            Some(kind) => kind.map(Some).map_err(|error| explain("look at", path, error)),
            None => self.root.kind(path),
        }
    }

    fn open_staged(&self, name: StagedName) -> Result<File, StoreError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::openat(&self.staging, name.entry(), flags, Mode::empty())
            .map(File::from)
            .map_err(|error| explain("open", &name.to_string(), error))
    }

    fn is_staged(&self, name: StagedName) -> Result<bool, StoreError> {
        match rustix::fs::statat(&self.staging, name.entry(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(explain("look at", &name.to_string(), error)),
        }
    }

    fn sync_staged(&self, names: &[StagedName]) -> Result<(), StoreError> {
        if self.options.durability == Durability::None {
            return Ok(());
        }
        if names.len() > MOST_SYNCED_ONE_BY_ONE {
            return self.sync_file_system();
        }
        for name in names {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            rustix::fs::openat(&self.staging, name.entry(), flags, Mode::empty())
                .and_then(rustix::fs::fdatasync)
                .map_err(|error| explain("sync", &name.to_string(), error))?;
        }
        Ok(())
    }

    fn make_folder(&self, folder: &str) -> Result<(), StoreError> {
        self.root.make_folder(folder, &mut |touched| {
            self.names().touched.insert(touched.to_owned());
        })
    }

    fn expect_files(&self) -> Result<(), StoreError> {
        let failed = |error| explain("list", &self.path.display().to_string(), error);
        for entry in rustix::fs::Dir::read_from(self.root.fd()).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !matches!(entry.file_name().to_bytes(), b"." | b".." | b".instep") {
                return Ok(());
            }
        }
        Err(StoreError::NotTheCopy { path: self.path.clone() })
    }

    fn place(&self, name: StagedName, path: &CopyPath) -> Result<(), StoreError> {
        let folder = self.folder_of(path)?;
        if let Some(backup) = &self.backup {
            backup.keep(&folder, path)?;
        }
        rustix::fs::renameat(&self.staging, name.entry(), folder, path.name())
            .map_err(|error| explain("place", path.as_str(), error))
    }

    fn remove(&self, path: &CopyPath, into: StagedName) -> Result<(), StoreError> {
        let folder = match self.folder_of(path) {
            Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Ok(());
            }
            folder => folder?,
        };
        if let Some(backup) = &self.backup {
            backup.keep(&folder, path)?;
        }
        match rustix::fs::renameat(folder, path.name(), &self.staging, into.entry()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(explain("remove", path.as_str(), error)),
        }
        self.names().last = None;
        self.remove_empty_folders(path)
    }

    fn move_within(&self, from: &CopyPath, to: &CopyPath, by: StagedName) -> Result<(), StoreError> {
        let folder = self.folder_of(from)?;
        let failed = |error| explain("move", from.as_str(), error);
        if from.as_str() != to.folder() {
            self.make_folder(to.folder())?;
            let target = self.folder_of(to)?;
            return rustix::fs::renameat(folder, from.name(), target, to.name()).map_err(failed);
        }
        // The folder that takes the file's place has the file in it already, so that it is never away.
        let by = by.to_string();
        rustix::fs::mkdirat(&self.staging, &by, Mode::from_raw_mode(0o777)).map_err(failed)?;
        let new = rustix::fs::openat(&self.staging, &by, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(failed)?;
        let linked =
            rustix::fs::linkat(&folder, from.name(), &new, to.name(), AtFlags::empty()).and_then(|()| {
                rustix::fs::renameat_with(&self.staging, &by, &folder, from.name(), RenameFlags::EXCHANGE)
            });
        let moved = match linked {
            Ok(()) => rustix::fs::unlinkat(&self.staging, &by, AtFlags::empty()),
            // A file system without links or exchange.
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS | Errno::MLINK) => {
                rustix::fs::renameat(&folder, from.name(), &new, to.name())
                    .and_then(|()| rustix::fs::renameat(&self.staging, &by, &folder, from.name()))
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
        if touched.len() > MOST_SYNCED_ONE_BY_ONE {
            return self.sync_file_system();
        }
        for folder in touched {
            match self.root.folder(&folder) {
                Ok(fd) => rustix::fs::fsync(fd).map_err(|error| explain("sync", &folder, error))?,
                // Removed since: then the folder above is touched too.
                Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
                // Swapped for something else since: wherever it is now, its names are on this file system.
                Err(error) if error.concerns_one_resource() => return self.sync_file_system(),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn sync_all(&self) -> Result<(), StoreError> {
        if self.options.durability == Durability::None { Ok(()) } else { self.sync_file_system() }
    }

    fn discard(&self, names: &[StagedName]) {
        for name in names {
            // Swept at the next start at the latest.
            let _ = rustix::fs::unlinkat(&self.staging, name.entry(), AtFlags::empty());
        }
    }

    fn sweep(&self) -> Result<(), StoreError> {
        super::sweep::sweep(&self.staging)
    }

    fn folds_names(&self) -> bool {
        self.folds_names
    }

    fn fresh_name(&self) -> StagedName {
        StagedName(self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn free_bytes(&self) -> Result<Option<u64>, StoreError> {
        let (free, reserve) = self.space()?;
        Ok(Some(free.saturating_sub(reserve)))
    }
}
