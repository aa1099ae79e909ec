//! A folder whose files are opened beneath it and nowhere else: no symbolic link is followed, whoever planted it (S1).

use std::{fs::File, io, os::fd::OwnedFd, path::Path};

use rustix::fs::{Mode, OFlags};

/// A folder held open.
#[derive(Debug)]
pub(crate) struct Root {
    folder: OwnedFd,
}

/// A pipe must not hold the server up until somebody writes into it.
const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOFOLLOW);

impl Root {
    /// Holds a folder open.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let folder =
            rustix::fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { folder })
    }

    /// Opens what lies under a name; segments are joined by `/`.
    pub(crate) fn file(&self, name: &[u8]) -> io::Result<File> {
        let name = if name.is_empty() { b".".as_slice() } else { name };
        #[cfg(target_os = "linux")]
        match self.file_in_one_step(name) {
            // A kernel before 5.6, or a sandbox that does not know the call.
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {}
            answer => return Ok(answer?.into()),
        }
        Ok(self.file_step_by_step(name)?.into())
    }

    #[cfg(target_os = "linux")]
    fn file_in_one_step(&self, name: &[u8]) -> rustix::io::Result<OwnedFd> {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(&self.folder, name, FLAGS, Mode::empty(), resolve)
    }

    fn file_step_by_step(&self, name: &[u8]) -> rustix::io::Result<OwnedFd> {
        let mut segments = name.split(|byte| *byte == b'/').peekable();
        let mut folder: Option<OwnedFd> = None;
        while let Some(segment) = segments.next() {
            if segment == b".." {
                return Err(rustix::io::Errno::NOENT);
            }
            let flags = if segments.peek().is_some() { FLAGS | OFlags::DIRECTORY } else { FLAGS };
            let parent = folder.as_ref().unwrap_or(&self.folder);
            folder = Some(rustix::fs::openat(parent, segment, flags, Mode::empty())?);
        }
        folder.ok_or(rustix::io::Errno::NOENT)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Read, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn both_ways_open_files_and_follow_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/b"), "b").unwrap();
        symlink(outside.path(), folder.path().join("link")).unwrap();
        symlink(outside.path().join("secret"), folder.path().join("a/secret")).unwrap();
        let root = Root::open(folder.path()).unwrap();

        let mut text = String::new();
        root.file(b"a/b").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "b");
        assert!(root.file_step_by_step(b"a/b").is_ok());
        for name in ["link/secret", "a/secret", "../x", "a/../../x", "absent", "a/b/c"] {
            assert!(root.file(name.as_bytes()).is_err(), "{name}");
            assert!(root.file_step_by_step(name.as_bytes()).is_err(), "{name}");
        }
    }
}
