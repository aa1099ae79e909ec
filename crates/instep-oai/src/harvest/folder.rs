//! The files of a harvest. A file gets its name when it is complete; one that replaces another stays in staging until
//! the state is committed.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use instep_store::{Lock, LockError, RootFolder, StagedName, Staging, expect_space, sync_file_system};
use rustix::fs::{Mode, OFlags, openat};

/// The folder of everything of the harvest's own, below that of the records.
pub(crate) const OWN: &str = ".instep/harvest";
const STAGING: &str = ".instep/harvest/staging";

/// The folder that records are written to.
#[derive(Debug)]
pub(crate) struct HarvestFolder {
    root: RootFolder,
    staging: Staging,
    /// Folders that are held open, by their paths.
    open: BTreeMap<String, OwnedFd>,
    _lock: Lock,
}

impl HarvestFolder {
    /// Opens the folder, and takes the lock of its harvest.
    ///
    /// # Errors
    /// If another process harvests into it, or the disk fails.
    pub(crate) fn open(path: &Path) -> Result<Self, LockError> {
        let root = RootFolder::open_or_make(path)?;
        let staging = Staging::open(&root, STAGING)?;
        let lock = Lock::take(&root.folder(OWN)?, "a harvest")?;
        Ok(Self { root, staging, open: BTreeMap::new(), _lock: lock })
    }

    /// Writes a file whose name nothing refers to yet.
    ///
    /// # Errors
    /// If the disk fails, or something else has the name.
    pub(crate) fn write(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let (folder, name) = split(path);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = openat(self.folder(folder)?, name, flags, Mode::from_raw_mode(0o666))?;
        File::from(file).write_all(bytes)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If there is none, or the disk fails.
    pub(crate) fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.root.file(path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes a file that will replace another.
    ///
    /// # Errors
    /// If the disk fails.
    pub(crate) fn stage(&self, bytes: &[u8]) -> io::Result<StagedName> {
        let (number, mut file) = self.staging.create()?;
        file.write_all(bytes)?;
        Ok(number)
    }

    /// Makes an empty file to write, which gets its name later.
    ///
    /// # Errors
    /// If the disk fails.
    pub(crate) fn create(&self) -> io::Result<(StagedName, File)> {
        self.staging.create()
    }

    /// Checks that the disk has more free space than the part that stays free.
    ///
    /// # Errors
    /// If it does not, as if the disk were full, or if the disk fails.
    pub(crate) fn expect_space(&self) -> io::Result<()> {
        expect_space(&self.root, None)
    }

    /// Removes a staged file.
    pub(crate) fn discard(&self, number: StagedName) {
        // A file that stays is removed with the next start.
        let _ = self.staging.discard(number);
    }

    /// Gives a staged file its name, if it does not have it yet.
    ///
    /// # Errors
    /// If the disk fails, or something else has the name.
    pub(crate) fn place(&mut self, number: StagedName, path: &str) -> io::Result<()> {
        if !self.staging.has(number)? {
            return Ok(());
        }
        let (folder, name) = split(path);
        self.folder(folder)?;
        match self.open.get(folder) {
            Some(opened) => self.staging.place(number, opened, name),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Removes a file.
    ///
    /// # Errors
    /// If the disk fails.
    pub(crate) fn remove(&self, path: &str) -> io::Result<()> {
        self.root.remove_file(path)
    }

    /// Removes files that a killed harvest left in staging.
    ///
    /// # Errors
    /// If the disk fails.
    pub(crate) fn clear_staging(&self) -> io::Result<()> {
        self.staging.clear(|_| false)
    }

    /// Makes everything that was written durable, with its name.
    ///
    /// # Errors
    /// If the disk fails.
    pub(crate) fn sync(&self) -> io::Result<()> {
        sync_file_system(self.root.as_fd())
    }

    fn folder(&mut self, path: &str) -> io::Result<&OwnedFd> {
        /// Folders kept open; each full text has its own.
        const MOST: usize = 32;
        if !self.open.contains_key(path) {
            if self.open.len() >= MOST {
                self.open.clear();
            }
            self.root.make_folder(path, 0o777, &mut |_| {})?;
            let opened = self.root.folder(path)?;
            self.open.insert(path.to_owned(), opened);
        }
        self.open.get(path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
