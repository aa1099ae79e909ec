//! Names beneath a folder that is kept open: no link on the way is followed, also not one that an attacker placed.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read as _, Take},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags},
    io::Errno,
};

use crate::Obstacle;

/// The flags that open a folder. Its last name is not followed either.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// The flags that open anything else. `NONBLOCK`, because opening a pipe waits for its other end otherwise.
const ANYTHING: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

/// The most bytes of a path that are passed to one system call. Linux takes 4,096; the rest is a reserve.
const LONGEST_STEP: usize = 3_000;

/// The kind of thing that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A link, a pipe, a socket or a device.
    Other,
}

/// A folder that is kept open, and everything beneath it.
///
/// Paths are relative, with `/` between the names. A link anywhere on the way is an [`Obstacle::Link`] and is not
/// followed: an attacker who can write below the folder cannot lead a reader or a writer out of it, even by swapping
/// a folder for a link in between. The way *to* the folder is the operator's and may have links.
#[derive(Debug)]
pub struct RootFolder {
    folder: OwnedFd,
    /// `false` once the kernel, or a filter for system calls, has refused `openat2`.
    resolves_beneath: AtomicBool,
}

impl RootFolder {
    /// Opens a folder.
    ///
    /// # Errors
    /// If it does not exist or cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self::held(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Opens a folder; creates it, and those above it, if it does not exist.
    ///
    /// # Errors
    /// If it cannot be created or read.
    pub fn open_or_make(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        Self::open(path)
    }

    fn held(folder: OwnedFd) -> Self {
        Self { folder, resolves_beneath: AtomicBool::new(cfg!(target_os = "linux")) }
    }

    /// Opens a folder beneath as a separate root.
    ///
    /// # Errors
    /// As [`RootFolder::folder`].
    pub fn root(&self, path: impl AsRef<[u8]>) -> io::Result<Self> {
        self.folder(path).map(Self::held)
    }

    /// Opens a folder beneath; the empty path is the root itself.
    ///
    /// # Errors
    /// If there is none, or an [`Obstacle`] is on the way.
    pub fn folder(&self, path: impl AsRef<[u8]>) -> io::Result<OwnedFd> {
        Ok(self.walk(path.as_ref(), FOLDER)?)
    }

    /// Opens a path of any kind for reading, without blocking; the empty path is the root itself.
    ///
    /// # Errors
    /// If there is nothing, or an [`Obstacle`] is on the way.
    pub fn entry(&self, path: impl AsRef<[u8]>) -> io::Result<File> {
        Ok(self.walk(path.as_ref(), ANYTHING)?.into())
    }

    /// Opens a plain file for reading, up to its present length: its end needs no further system call.
    ///
    /// # Errors
    /// If there is none, or an [`Obstacle`] is on the way or in its place.
    pub fn file(&self, path: impl AsRef<[u8]>) -> io::Result<Take<File>> {
        let file = self.entry(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(Obstacle::Folder.into());
        }
        if !metadata.is_file() {
            return Err(Obstacle::NotAFile.into());
        }
        Ok(file.take(metadata.len()))
    }

    /// Returns the kind of a path; `None` if there is nothing. A link is not followed.
    ///
    /// # Errors
    /// If an [`Obstacle`] is on the way, or the disk fails.
    pub fn kind(&self, path: impl AsRef<[u8]>) -> io::Result<Option<NameKind>> {
        let (folder, name) = split(path.as_ref());
        match folder {
            b"" => kind_at(&self.folder, OsStr::from_bytes(name)),
            _ => match self.walk(folder, FOLDER) {
                Err(Errno::NOENT) => Ok(None),
                folder => kind_at(folder?, OsStr::from_bytes(name)),
            },
        }
    }

    /// Makes a folder, and those above it, with the permissions `mode` as far as the process's mask allows. `made` gets
    /// the path of each folder that did not exist: the name is durable once the caller has synced the folder above.
    ///
    /// # Errors
    /// If an [`Obstacle`] is in the way, or the disk fails.
    pub fn make_folder(&self, folder: &str, mode: u16, made: &mut dyn FnMut(&str)) -> io::Result<()> {
        match self.walk(folder.as_bytes(), FOLDER) {
            Err(Errno::NOENT) => {}
            found => return Ok(found.map(drop)?),
        }
        let mut parent: Option<OwnedFd> = None;
        let mut above = "";
        let ends = folder.match_indices('/').map(|(end, _)| end).chain([folder.len()]);
        for end in ends {
            let name = folder[above.len()..end].trim_start_matches('/');
            let at = parent.as_ref().unwrap_or(&self.folder).as_fd();
            match rustix::fs::mkdirat(at, name, Mode::from_raw_mode(mode.into())) {
                Ok(()) => made(&folder[..end]),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            parent = Some(rustix::fs::openat(at, name, FOLDER, Mode::empty())?);
            above = &folder[..end];
        }
        Ok(())
    }

    /// Removes a file or a link; a missing one is not an error.
    ///
    /// # Errors
    /// If a folder has the name, an [`Obstacle`] is on the way, or the disk fails.
    pub fn remove_file(&self, path: impl AsRef<[u8]>) -> io::Result<()> {
        let (folder, name) = split(path.as_ref());
        let folder = match self.walk(folder, FOLDER) {
            Err(Errno::NOENT) => return Ok(()),
            folder => folder?,
        };
        match rustix::fs::unlinkat(folder, OsStr::from_bytes(name), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a folder if it is empty; returns `false` if it is not, or is not there.
    ///
    /// # Errors
    /// If an [`Obstacle`] is on the way or has the name, or the disk fails.
    pub fn remove_empty_folder(&self, path: impl AsRef<[u8]>) -> io::Result<bool> {
        let (folder, name) = split(path.as_ref());
        let folder = match self.walk(folder, FOLDER) {
            Err(Errno::NOENT) => return Ok(false),
            folder => folder?,
        };
        match rustix::fs::unlinkat(folder, OsStr::from_bytes(name), AtFlags::REMOVEDIR) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a path, in as many calls as its length needs.
    fn walk(&self, path: &[u8], last: OFlags) -> Result<OwnedFd, Errno> {
        let mut rest = path.strip_suffix(b"/").unwrap_or(path);
        let mut at = None;
        while rest.len() > LONGEST_STEP {
            let slash = rest[..LONGEST_STEP].iter().rposition(|byte| *byte == b'/');
            let end = slash.filter(|end| *end > 0).ok_or(Errno::NAMETOOLONG)?;
            at = Some(self.step(at.as_ref().unwrap_or(&self.folder), &rest[..end], FOLDER)?);
            rest = &rest[end + 1..];
        }
        self.step(at.as_ref().unwrap_or(&self.folder), if rest.is_empty() { b"." } else { rest }, last)
    }

    fn step(&self, at: &OwnedFd, path: &[u8], last: OFlags) -> Result<OwnedFd, Errno> {
        #[cfg(target_os = "linux")]
        if self.resolves_beneath.load(Ordering::Relaxed) {
            use rustix::fs::ResolveFlags;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match rustix::fs::openat2(at, OsStr::from_bytes(path), last, Mode::empty(), resolve) {
                // A kernel before 5.6 answers with the one, a filter for system calls with either.
                Err(Errno::NOSYS | Errno::PERM) => self.resolves_beneath.store(false, Ordering::Relaxed),
                answer => return answer,
            }
        }
        name_by_name(at, path, last)
    }
}

impl AsFd for RootFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// Opens a path if the kernel cannot confine it: each name separately, following none.
fn name_by_name(at: &OwnedFd, path: &[u8], last: OFlags) -> Result<OwnedFd, Errno> {
    let mut names = path.split(|byte| *byte == b'/').peekable();
    let mut folder: Option<OwnedFd> = None;
    while let Some(name) = names.next() {
        if name == b".." {
            return Err(Errno::NOENT);
        }
        let flags = if names.peek().is_some() { FOLDER } else { last };
        let at = folder.as_ref().unwrap_or(at);
        folder = Some(rustix::fs::openat(at, OsStr::from_bytes(name), flags, Mode::empty())?);
    }
    folder.ok_or(Errno::NOENT)
}

/// Splits a path into its folder and its last name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

/// Returns the kind of a name in an open folder; `None` if there is nothing. A link is not followed.
///
/// # Errors
/// If the disk fails.
pub fn kind_at(folder: impl AsFd, name: impl AsRef<OsStr>) -> io::Result<Option<NameKind>> {
    let stat = match rustix::fs::statat(folder, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(None),
        stat => stat?,
    };
    Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => NameKind::File,
        FileType::Directory => NameKind::Folder,
        _ => NameKind::Other,
    }))
}

#[cfg(test)]
mod tests;
