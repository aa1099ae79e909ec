//! Files that are being written, before they get their names.

use std::{
    fmt,
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags, RenameFlags},
    io::Errno,
    path::DecInt,
};

use crate::RootFolder;

/// The flags that open a file in staging: no link that was planted there is followed, no pipe is waited for.
const FLAGS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

/// The most discarded files that are kept to be overwritten with new content.
const MOST_RECYCLED: usize = 256;

/// A folder in which files are written under numbers. Each is complete, and durable if the caller requests it, before
/// a rename gives it its name. It must therefore be on the same file system as the names.
#[derive(Debug)]
pub struct Staging {
    folder: OwnedFd,
    next: AtomicU64,
    recycled: Mutex<Vec<StagedName>>,
}

/// The number of a file in a [`Staging`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StagedName(u64);

impl StagedName {
    /// Returns the number's place in the name of a file.
    fn name(self) -> DecInt {
        DecInt::new(self.0)
    }

    /// Returns the number, to record it.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl From<u64> for StagedName {
    fn from(recorded: u64) -> Self {
        Self(recorded)
    }
}

impl fmt::Display for StagedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Staging {
    /// Opens a folder beneath a root as staging, accessible only to its owner; creates it if it does not exist.
    ///
    /// # Errors
    /// If an [`Obstacle`](crate::Obstacle) is in the way, or the disk fails.
    pub fn open(root: &RootFolder, folder: &str) -> io::Result<Self> {
        root.make_folder(folder, 0o700, &mut |_| {})?;
        Ok(Self { folder: root.folder(folder)?, next: AtomicU64::new(1), recycled: Mutex::default() })
    }

    /// Returns a number that no file has had since this value was made.
    pub fn fresh_name(&self) -> StagedName {
        StagedName(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Makes an empty file to write and read, with the permissions that the process's mask leaves.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn create(&self) -> io::Result<(StagedName, File)> {
        if let Some(recycled) = self.reuse() {
            return Ok(recycled);
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | FLAGS;
        loop {
            let number = self.fresh_name();
            match rustix::fs::openat(&self.folder, number.name(), flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => return Ok((number, file.into())),
                // The number is in use by a file that a killed process left: the next number is tried.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Gives a file that is in place a second name here, so that it costs no space (a hard link). It must not be
    /// written to any more.
    ///
    /// # Errors
    /// If there is none, the file system has no hard links or no more for this file, or the disk fails.
    pub fn link_in(&self, folder: impl AsFd, name: &str) -> io::Result<StagedName> {
        let number = self.fresh_name();
        rustix::fs::linkat(folder, name, &self.folder, number.name(), AtFlags::empty())?;
        Ok(number)
    }

    /// Opens a staged file for reading. The handle stays valid when the file is placed or discarded.
    ///
    /// # Errors
    /// If there is none, or the disk fails.
    pub fn read(&self, number: StagedName) -> io::Result<File> {
        Ok(rustix::fs::openat(&self.folder, number.name(), OFlags::RDONLY | FLAGS, Mode::empty())?.into())
    }

    /// Returns `true` if a file has the number.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn has(&self, number: StagedName) -> io::Result<bool> {
        match rustix::fs::statat(&self.folder, number.name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the bytes of a staged file durable.
    ///
    /// # Errors
    /// If there is none, or the disk fails.
    pub fn sync(&self, number: StagedName) -> io::Result<()> {
        self.read(number)?.sync_data()
    }

    /// Gives a staged file a name in a folder, atomically: a reader of the name gets the old file or the new one.
    ///
    /// # Errors
    /// If an [`Obstacle`](crate::Obstacle) has the name, or the disk fails.
    pub fn place(&self, number: StagedName, folder: impl AsFd, name: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.folder, number.name(), folder, name)?)
    }

    /// Gives a staged file a name that is not in use, with one system call. Returns `false`, with nothing changed, if the
    /// name is in use or if the file system cannot rename so.
    ///
    /// # Errors
    /// If an [`Obstacle`](crate::Obstacle) is in the way, or the disk fails.
    pub fn place_new(&self, number: StagedName, folder: impl AsFd, name: &str) -> io::Result<bool> {
        match rustix::fs::renameat_with(&self.folder, number.name(), folder, name, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves a file out of a folder, atomically, and stages it under a number.
    ///
    /// # Errors
    /// If there is none, or the disk fails.
    pub fn take_out(&self, folder: impl AsFd, name: &str, number: StagedName) -> io::Result<()> {
        Ok(rustix::fs::renameat(folder, name, &self.folder, number.name())?)
    }

    /// Removes a staged file, if it is there.
    ///
    /// # Errors
    /// If a folder has the number, or the disk fails.
    pub fn discard(&self, number: StagedName) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.folder, number.name(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a staged file available for new content, under another number, if it is never placed: removing and creating
    /// a file for each resource costs the file system more than its bytes. No reader of the file may be left.
    ///
    /// # Errors
    /// As for [`Staging::discard`].
    pub fn recycle(&self, number: StagedName) -> io::Result<()> {
        let mut recycled = self.recycled.lock().unwrap_or_else(PoisonError::into_inner);
        if recycled.len() < MOST_RECYCLED {
            recycled.push(number);
            return Ok(());
        }
        drop(recycled);
        self.discard(number)
    }

    /// Removes the files that wait to be written anew, before another process may use the folder.
    pub fn forget_recycled(&self) {
        let recycled = std::mem::take(&mut *self.recycled.lock().unwrap_or_else(PoisonError::into_inner));
        for number in recycled {
            let _ = self.discard(number);
        }
    }

    /// Returns a recycled file, empty; `None` if there is none.
    fn reuse(&self) -> Option<(StagedName, File)> {
        let former = self.recycled.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        let number = self.fresh_name();
        // The rename fails if it was discarded since, or recycled twice.
        rustix::fs::renameat(&self.folder, former.name(), &self.folder, number.name()).ok()?;
        let flags = OFlags::RDWR | OFlags::TRUNC | FLAGS;
        let file = rustix::fs::openat(&self.folder, number.name(), flags, Mode::empty()).ok()?;
        Some((number, file.into()))
    }

    /// Removes everything but the names that `keeps` returns `true` for; folders with all that is in them. Links are
    /// removed, not followed.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn clear(&self, keeps: impl Fn(&str) -> bool) -> io::Result<()> {
        clear(&self.folder, &keeps)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.forget_recycled();
    }
}

impl AsFd for Staging {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

fn clear(folder: &OwnedFd, keeps: &dyn Fn(&str) -> bool) -> io::Result<()> {
    // Read first: a folder that is changed while it is read may show names twice or not at all.
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") && !name.to_str().is_ok_and(keeps) {
            names.push(name);
        }
    }
    for name in names {
        match rustix::fs::unlinkat(folder, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            // Linux returns the first for a folder, other systems the second.
            Err(Errno::ISDIR | Errno::PERM) => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | FLAGS;
                clear(&rustix::fs::openat(folder, &name, flags, Mode::empty())?, &|_| false)?;
                rustix::fs::unlinkat(folder, &name, AtFlags::REMOVEDIR)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
