use std::{os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
};

use super::{
    NameKind, StoreError,
    beneath::{Root, explain, kind_at},
};
use crate::map::CopyPath;

/// Where files go that are replaced or removed, each under its path in the copy.
#[derive(Debug)]
pub(super) struct Backup {
    root: Root,
}

impl Backup {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let io = |doing, error| StoreError::io(doing, path.display().to_string(), error);
        std::fs::create_dir_all(path).map_err(|error| io("make the backup folder", error))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|error| io("open the backup folder", error.into()))?;
        Ok(Self { root: Root::new(fd) })
    }

    /// Keeps what stands under a name, if it is a file; an earlier backup of it gives way.
    pub(super) fn keep(&self, folder: &OwnedFd, path: &CopyPath) -> Result<(), StoreError> {
        let failed = |error| explain("back up", path.as_str(), error);
        match kind_at(folder, path.name()) {
            Ok(NameKind::File) => {}
            Ok(_) | Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(failed(error)),
        }
        self.root.make_folder(path.folder(), &mut |_| {})?;
        let target = self.root.folder(path.folder())?;
        match rustix::fs::unlinkat(&target, path.name(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed(error)),
        }
        match rustix::fs::linkat(folder, path.name(), &target, path.name(), AtFlags::empty()) {
            Ok(()) => Ok(()),
            Err(Errno::XDEV | Errno::PERM | Errno::MLINK | Errno::OPNOTSUPP) => copy(folder, &target, path),
            Err(error) => Err(failed(error)),
        }
    }
}

/// To another file system: durable before the original goes.
fn copy(folder: &OwnedFd, target: &OwnedFd, path: &CopyPath) -> Result<(), StoreError> {
    let open = |at: &OwnedFd, flags| {
        rustix::fs::openat(
            at,
            path.name(),
            flags | OFlags::CLOEXEC | OFlags::NOFOLLOW,
            Mode::from_raw_mode(0o666),
        )
        .map(std::fs::File::from)
        .map_err(|error| explain("back up", path.as_str(), error))
    };
    let mut from = open(folder, OFlags::RDONLY)?;
    let mut to = open(target, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
    std::io::copy(&mut from, &mut to)
        .and_then(|_| to.sync_data())
        .map_err(|error| StoreError::io("back up", path.as_str(), error))
}
