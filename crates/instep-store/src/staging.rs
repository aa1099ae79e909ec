//! Files that are being written, before they get their names.

use std::{
    fmt,
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags, RenameFlags},
    io::Errno,
    path::DecInt,
};

use crate::RootFolder;

/// The flags that open a file in staging: no link that was planted there is followed, no pipe is waited for.
const FLAGS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

/// A folder in which files are written under numbers. Each is complete, and durable if the caller requests it, before
/// a rename gives it its name. It must therefore be on the same file system as the names.
#[derive(Debug)]
pub struct Staging {
    folder: OwnedFd,
    next: AtomicU64,
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
        Ok(Self { folder: root.folder(folder)?, next: AtomicU64::new(1) })
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
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | FLAGS;
        loop {
            let number = self.fresh_name();
            match rustix::fs::openat(&self.folder, number.name(), flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => return Ok((number, file.into())),
                // Left by a process that was killed.
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

    /// Removes everything but the names that `keeps` returns `true` for; folders with all that is in them. Links are
    /// removed, not followed.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn clear(&self, keeps: impl Fn(&str) -> bool) -> io::Result<()> {
        clear(&self.folder, &keeps)
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
mod tests {
    use std::{
        fs,
        io::{Read as _, Write as _},
        os::unix::fs::symlink,
    };

    use super::Staging;
    use crate::{Obstacle, RootFolder, sync_group};

    #[test]
    fn a_staged_file_is_placed_whole_and_taken_out_again() {
        let dir = tempfile::tempdir().unwrap();
        let root = RootFolder::open(dir.path()).unwrap();
        let staging = Staging::open(&root, "own/staging").unwrap();
        let (number, mut file) = staging.create().unwrap();
        file.write_all(b"whole").unwrap();
        sync_group([number].into_iter(), 1, &root, |number| staging.sync(number)).unwrap();
        sync_group([number].into_iter(), 0, &root, |_| unreachable!("synced with its file system")).unwrap();
        assert!(staging.place_new(number, &root, "a").unwrap());
        assert!(!staging.has(number).unwrap());
        let (later, _) = staging.create().unwrap();
        assert!(!staging.place_new(later, &root, "a").unwrap(), "the name is taken");
        assert!(staging.has(later).unwrap());
        staging.place(later, &root, "b").unwrap();
        let aside = staging.fresh_name();
        staging.take_out(&root, "a", aside).unwrap();
        let mut text = String::new();
        staging.read(aside).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "whole");
        staging.discard(aside).unwrap();
        staging.discard(aside).unwrap();
        assert!(!dir.path().join("a").exists());
    }

    #[test]
    fn a_folder_that_has_the_name_is_an_obstacle() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        let root = RootFolder::open(dir.path()).unwrap();
        let staging = Staging::open(&root, "staging").unwrap();
        let (number, _) = staging.create().unwrap();
        let refused = staging.place(number, &root, "a").unwrap_err();
        assert_eq!(Obstacle::of(&refused), Some(Obstacle::Folder));
    }

    #[test]
    fn c14_clearing_follows_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let (top, outside) = (dir.path().join("top"), dir.path().join("outside"));
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("theirs"), "theirs").unwrap();
        let root = RootFolder::open_or_make(&top).unwrap();
        let staging = Staging::open(&root, "staging").unwrap();
        fs::create_dir_all(top.join("staging/deep/er")).unwrap();
        fs::write(top.join("staging/deep/er/file"), "").unwrap();
        symlink(&outside, top.join("staging/link")).unwrap();
        symlink(&outside, top.join("staging/deep/link")).unwrap();
        fs::write(top.join("staging/part-1"), "kept").unwrap();
        staging.clear(|name| name.starts_with("part-")).unwrap();
        let left: Vec<_> =
            fs::read_dir(top.join("staging")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["part-1"]);
        assert_eq!(fs::read_to_string(outside.join("theirs")).unwrap(), "theirs");
        fs::remove_dir_all(top.join("staging")).unwrap();
        symlink(&outside, top.join("staging")).unwrap();
        assert!(Staging::open(&root, "staging").is_err());
    }
}
