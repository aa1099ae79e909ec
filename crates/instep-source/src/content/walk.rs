//! A folder, file by file, in the order of the catalogue: that of the bytes of the complete relative path.

use std::{io, os::fd::OwnedFd};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, statat},
    io::Errno,
};

use super::{
    filter,
    root::Root,
    skips::Skips,
    stat::{is_for_others, stamp},
};
use crate::{LeftOut, PublishMonitor, PublishProblem, catalogue::FileStamp};

/// The next step of a walk.
#[derive(Debug)]
pub(crate) enum WalkStep<'a> {
    /// A file to publish.
    File {
        /// Relative to the root.
        path: &'a [u8],
        /// Its stamp.
        stamp: FileStamp,
        /// The sets that take it.
        sets: u64,
    },
    /// A folder, its path ending in a slash, or a file whose state is unknown at present: its record is kept.
    Unknown {
        /// Relative to the root.
        path: &'a [u8],
    },
}

/// Walks one root, or a folder in it. Only the names in the folders being read are in memory.
pub(crate) struct FolderWalk<'a> {
    root: &'a Root,
    monitor: &'a dyn PublishMonitor,
    private_too: bool,
    path: Vec<u8>,
    open: Vec<Folder>,
    spare: Vec<(Vec<u8>, Vec<FoundName>)>,
    pub(crate) skips: Skips,
}

#[derive(Debug)]
struct Folder {
    handle: OwnedFd,
    /// The names one after the other, those of folders with a slash, so that they sort as parts of a path.
    names: Vec<u8>,
    sorted: Vec<FoundName>,
    next: usize,
    path_length: usize,
}

#[derive(Clone, Copy, Debug)]
struct FoundName {
    start: u32,
    length: u16,
}

/// A file or folder at the path of the walk.
enum FoundPath {
    File(FileStamp, u64),
    Unknown,
}

impl<'a> FolderWalk<'a> {
    /// Returns a walk through an entire root.
    ///
    /// # Errors
    /// If its folder cannot be read.
    pub(crate) fn new(
        root: &'a Root,
        private_too: bool,
        monitor: &'a dyn PublishMonitor,
    ) -> io::Result<Self> {
        let handle = root.open_folder(b"")?;
        Self::from(root, b"", handle, private_too, monitor)
    }

    /// Returns a walk through one folder of a root, its path ending in a slash.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub(crate) fn under(
        root: &'a Root,
        folder: &[u8],
        private_too: bool,
        monitor: &'a dyn PublishMonitor,
    ) -> io::Result<Self> {
        let handle = root.open_folder(folder)?;
        Self::from(root, folder, handle, private_too, monitor)
    }

    fn from(
        root: &'a Root,
        folder: &[u8],
        handle: OwnedFd,
        private_too: bool,
        monitor: &'a dyn PublishMonitor,
    ) -> io::Result<Self> {
        let (path, open, spare) = (folder.to_vec(), Vec::new(), Vec::new());
        let mut walk = Self { root, monitor, private_too, path, open, spare, skips: Skips::default() };
        walk.read(handle)?;
        Ok(walk)
    }

    /// Returns the next file, which follows all earlier ones in byte order.
    pub(crate) fn step(&mut self) -> Option<WalkStep<'_>> {
        Some(match self.advance()? {
            FoundPath::File(stamp, sets) => WalkStep::File { path: &self.path, stamp, sets },
            FoundPath::Unknown => WalkStep::Unknown { path: &self.path },
        })
    }

    fn advance(&mut self) -> Option<FoundPath> {
        loop {
            let folder = self.open.last_mut()?;
            let Some(name) = folder.sorted.get(folder.next).copied() else {
                self.leave();
                continue;
            };
            folder.next += 1;
            self.path.truncate(folder.path_length);
            self.path.extend_from_slice(name.of(&folder.names));
            let found = match self.path.strip_suffix(b"/") {
                Some(path) if self.root.is_left_out(path) || self.root.prunes(path) => None,
                Some(_) => self.enter(),
                None => self.look(name),
            };
            if found.is_some() {
                return found;
            }
        }
    }

    /// Returns the file at the path, if it is to be published.
    fn look(&mut self, name: FoundName) -> Option<FoundPath> {
        let sets = self.root.sets_of(&self.path);
        if sets == 0 || self.root.is_left_out(&self.path) {
            return None;
        }
        let folder = self.open.last()?;
        let stat = match statat(&folder.handle, name.of(&folder.names), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(error) => return self.unreadable(error),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if self.private_too || is_for_others(&stat) => {
                Some(FoundPath::File(stamp(&stat), sets))
            }
            FileType::RegularFile => {
                self.leave_out(LeftOut::Private, b"");
                Some(FoundPath::Unknown)
            }
            FileType::Symlink => self.leave_out(LeftOut::Link, b""),
            _ => self.leave_out(LeftOut::Special, b""),
        }
    }

    fn enter(&mut self) -> Option<FoundPath> {
        let folder = self.open.last()?;
        let name = &self.path[folder.path_length..self.path.len() - 1];
        let opened = openat(&folder.handle, name, FOLDER, Mode::empty()).and_then(|handle| self.read(handle));
        match opened {
            Ok(true) => None,
            Ok(false) => Some(FoundPath::Unknown),
            Err(error) => self.unreadable(error),
        }
    }

    /// Opens the folder at the path and sorts its names; returns `false` if not everybody may enter it.
    fn read(&mut self, handle: OwnedFd) -> Result<bool, Errno> {
        if !self.path.is_empty() && !self.private_too && fstat(&handle)?.st_mode & 0o001 == 0 {
            self.leave_out(LeftOut::Private, b"");
            return Ok(false);
        }
        let (mut names, mut sorted) = self.spare.pop().unwrap_or_default();
        self.list(&handle, &mut names, &mut sorted)?;
        sorted.sort_unstable_by(|a, b| a.of(&names).cmp(b.of(&names)));
        self.open.push(Folder { handle, names, sorted, next: 0, path_length: self.path.len() });
        Ok(true)
    }

    fn list(
        &mut self,
        handle: &OwnedFd,
        names: &mut Vec<u8>,
        sorted: &mut Vec<FoundName>,
    ) -> Result<(), Errno> {
        for entry in Dir::read_from(handle)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            if filter::is_left_out(name) {
                self.leave_out(LeftOut::Name, name);
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => kind_of(handle, name)?,
                known => known,
            };
            let slash: &[u8] = match kind {
                FileType::Directory => b"/",
                FileType::RegularFile => b"",
                FileType::Symlink => {
                    self.leave_out(LeftOut::Link, name);
                    continue;
                }
                _ => {
                    self.leave_out(LeftOut::Special, name);
                    continue;
                }
            };
            let start = u32::try_from(names.len()).map_err(|_| Errno::FBIG)?;
            names.extend_from_slice(name);
            names.extend_from_slice(slash);
            sorted.push(FoundName { start, length: (name.len() + slash.len()) as u16 });
        }
        Ok(())
    }

    /// Counts a file or folder that is not published: the one at the path, or a name in the folder there.
    fn leave_out(&mut self, reason: LeftOut, name: &[u8]) -> Option<FoundPath> {
        let path = [&self.path, name].concat();
        if reason == LeftOut::Name && self.root.is_left_out(&path) {
            return None;
        }
        self.monitor.left_out(&self.root.path(&path).display().to_string(), reason);
        let skipped = match reason {
            LeftOut::Private => &mut self.skips.private,
            LeftOut::Link => &mut self.skips.links,
            LeftOut::Special => &mut self.skips.special,
            LeftOut::Name => &mut self.skips.names,
        };
        skipped.add(&path);
        None
    }

    fn leave(&mut self) {
        if let Some(mut folder) = self.open.pop() {
            folder.names.clear();
            folder.sorted.clear();
            self.spare.push((folder.names, folder.sorted));
        }
    }

    /// Skips a file that was just removed; other faults may be temporary, so nothing is concluded from them.
    fn unreadable(&mut self, error: Errno) -> Option<FoundPath> {
        if matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP) {
            return None;
        }
        self.skips.unreadable += 1;
        let path = self.root.path(&self.path);
        let what = format!("cannot be read: {error}; its published entry stays");
        self.monitor.problem(&PublishProblem::skipped(path.display().to_string(), what));
        Some(FoundPath::Unknown)
    }
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl FoundName {
    fn of(self, names: &[u8]) -> &[u8] {
        &names[self.start as usize..][..usize::from(self.length)]
    }
}

fn kind_of(handle: &OwnedFd, name: &[u8]) -> Result<FileType, Errno> {
    match statat(handle, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(FileType::from_raw_mode(stat.st_mode)),
        // Already removed: inspecting it will show this.
        Err(Errno::NOENT) => Ok(FileType::RegularFile),
        Err(error) => Err(error),
    }
}
