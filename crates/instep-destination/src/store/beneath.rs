//! Names below a folder that is held open: no link is followed on the way, wherever it was planted (D3, D4).

use std::{
    fs::File,
    io::{Read as _, Take},
    os::fd::{AsFd, OwnedFd},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags},
    io::Errno,
};

use super::{NameKind, StoreError};

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// As much of a path as one system call takes, with room to spare.
const LONGEST_STEP: usize = 3_000;

/// A folder, and everything below it.
#[derive(Debug)]
pub(super) struct Root {
    fd: OwnedFd,
    /// Whether the kernel has openat2; found out by the first use.
    resolves_beneath: AtomicBool,
}

impl Root {
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self { fd, resolves_beneath: AtomicBool::new(true) }
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// A folder below; the root itself for the empty path.
    pub(super) fn folder(&self, folder: &str) -> Result<OwnedFd, StoreError> {
        self.walk(folder, FOLDER).map_err(|error| explain("open the folder", folder, error))
    }

    /// A plain file below, up to the size it has now: its end then needs no further look.
    pub(super) fn file(&self, path: &str) -> Result<Take<File>, StoreError> {
        // NONBLOCK: a planted pipe must not hold us up.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let fd = self.walk(path, flags).map_err(|error| explain("open", path, error))?;
        let stat = rustix::fs::fstat(&fd).map_err(|error| explain("read the kind of", path, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(StoreError::Blocked { path: path.to_owned(), by: "something that is no file" });
        }
        Ok(File::from(fd).take(u64::try_from(stat.st_size).unwrap_or_default()))
    }

    pub(super) fn kind(&self, path: &str) -> Result<Option<NameKind>, StoreError> {
        let look = || {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            match folder {
                "" => kind_at(&self.fd, name),
                _ => kind_at(self.walk(folder, FOLDER)?, name),
            }
        };
        match look() {
            Ok(kind) => Ok(Some(kind)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(explain("look at", path, error)),
        }
    }

    /// Makes what is missing of a folder; `made` hears of each folder that got a new name in it.
    pub(super) fn make_folder(&self, folder: &str, made: &mut dyn FnMut(&str)) -> Result<(), StoreError> {
        match self.walk(folder, FOLDER) {
            Ok(_) => return Ok(()),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(explain("open the folder", folder, error)),
        }
        let mut parent = None;
        let mut above = "";
        let ends = folder.match_indices('/').map(|(end, _)| end).chain([folder.len()]);
        for end in ends {
            let name = folder[above.len()..end].trim_start_matches('/');
            let at = parent.as_ref().unwrap_or(&self.fd).as_fd();
            match rustix::fs::mkdirat(at, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => made(above),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(explain("make the folder", &folder[..end], error)),
            }
            let next = rustix::fs::openat(at, name, FOLDER, Mode::empty());
            parent = Some(next.map_err(|error| explain("open the folder", &folder[..end], error))?);
            above = &folder[..end];
        }
        Ok(())
    }

    /// Opens what a path names, step by step where it is longer than the system takes at once.
    fn walk(&self, path: &str, last: OFlags) -> Result<OwnedFd, Errno> {
        let mut rest = path;
        let mut at = None;
        while rest.len() > LONGEST_STEP {
            let end = (1..LONGEST_STEP)
                .rev()
                .find(|end| rest.as_bytes()[*end] == b'/')
                .ok_or(Errno::NAMETOOLONG)?;
            let next = self.step(at.as_ref().unwrap_or(&self.fd), &rest[..end], FOLDER)?;
            at = Some(next);
            rest = &rest[end + 1..];
        }
        self.step(at.as_ref().unwrap_or(&self.fd), if rest.is_empty() { "." } else { rest }, last)
    }

    fn step(&self, at: &OwnedFd, path: &str, last: OFlags) -> Result<OwnedFd, Errno> {
        if self.resolves_beneath.load(Ordering::Relaxed) {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match rustix::fs::openat2(at, path, last, Mode::empty(), resolve) {
                // Filters for system calls answer with either.
                Err(Errno::NOSYS | Errno::PERM) => self.resolves_beneath.store(false, Ordering::Relaxed),
                answer => return answer,
            }
        }
        let mut names = path.split('/').peekable();
        let mut fd: Option<OwnedFd> = None;
        while let Some(name) = names.next() {
            let flags = if names.peek().is_some() { FOLDER } else { last };
            fd = Some(rustix::fs::openat(fd.as_ref().unwrap_or(at), name, flags, Mode::empty())?);
        }
        fd.ok_or(Errno::NOENT)
    }
}

/// What stands under a name, not followed.
pub(super) fn kind_at(folder: impl AsFd, name: &str) -> Result<NameKind, Errno> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => NameKind::File,
        FileType::Directory => NameKind::Folder,
        _ => NameKind::Other,
    })
}

/// Tells what stands in the way of one resource from what is wrong with the storage.
pub(super) fn explain(doing: &'static str, path: &str, error: Errno) -> StoreError {
    let by = match error {
        Errno::LOOP | Errno::XDEV => "a link",
        Errno::NOTDIR => "something that is no folder",
        Errno::ISDIR | Errno::NOTEMPTY => "a folder",
        Errno::NAMETOOLONG => "its length: this file system takes shorter names only",
        _ => return StoreError::io(doing, path, error),
    };
    StoreError::Blocked { path: path.to_owned(), by }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, sync::atomic::Ordering};

    use super::{NameKind, Root, StoreError};

    #[test]
    fn d3_links_are_refused_whether_the_kernel_resolves_beneath_or_not() {
        for resolves_beneath in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let (top, outside) = (dir.path().join("top"), dir.path().join("outside"));
            std::fs::create_dir_all(top.join("real/deep")).unwrap();
            std::fs::create_dir(&outside).unwrap();
            std::fs::write(outside.join("secret"), b"theirs").unwrap();
            std::fs::write(top.join("real/deep/file"), b"ours").unwrap();
            symlink(&outside, top.join("link")).unwrap();
            symlink(outside.join("secret"), top.join("real/secret")).unwrap();
            let root = Root::new(std::fs::File::open(&top).unwrap().into());
            root.resolves_beneath.store(resolves_beneath, Ordering::Relaxed);
            assert!(root.file("real/deep/file").is_ok());
            assert!(root.folder("real/deep").is_ok() && root.folder("").is_ok());
            root.make_folder("real/new/deeper", &mut |_| {}).unwrap();
            assert_eq!(root.kind("real/new/deeper").unwrap(), Some(NameKind::Folder));
            assert_eq!(root.kind("real/none/file").unwrap(), None);
            assert_eq!(root.kind("link").unwrap(), Some(NameKind::Other));
            for refused in ["link/secret", "real/secret", "link"] {
                assert!(matches!(root.file(refused), Err(StoreError::Blocked { .. })), "{refused}");
            }
            assert!(matches!(root.folder("link"), Err(StoreError::Blocked { .. })));
            assert!(matches!(root.make_folder("link/x", &mut |_| {}), Err(StoreError::Blocked { .. })));
            assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
        }
    }
}
