//! The lock of a folder: one process at a time works in it.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, Write as _},
    os::{fd::AsFd, unix::fs::MetadataExt as _},
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock, openat},
    io::Errno,
};

use crate::Obstacle;

/// `NONBLOCK`, because opening a pipe that somebody placed there would otherwise block until its other end is opened.
const FLAGS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

/// Attempts to take the lock, and the time between them: [`Lock::is_taken`] holds it for an instant.
const ATTEMPTS: u32 = 4;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(5);

/// The most bytes of the holder's name that are read.
const LONGEST_HOLDER: u64 = 1_024;

/// The right to work in a folder, held while this value lives. It is a `flock`, so the system frees it at once when the
/// holder is killed.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// A lock that was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process holds it.
    #[error("it is in use by {holder}")]
    Held {
        /// The holder as it wrote itself; "another process" if it wrote nothing.
        holder: String,
    },
    /// Something else has the name of the lock file: a pipe, a folder, a link.
    #[error("instead of the lock file there is {by}: move it away and try again")]
    Obstructed {
        /// The existing file.
        by: Obstacle,
    },
    /// The folder was removed while the lock was taken.
    #[error("its folder was removed meanwhile: try again")]
    Removed,
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Lock {
    /// The name of the lock file in its folder.
    pub const NAME: &str = "lock";

    /// Takes the lock of a folder and writes the holder's name into it, for the message that other processes show.
    ///
    /// # Errors
    /// If another process holds it, something else has its name, the folder was removed, or the disk fails.
    pub fn take(folder: impl AsFd, holder: &str) -> Result<Self, LockError> {
        let mut file = open(folder, OFlags::RDWR | OFlags::CREATE)?;
        if !try_to_lock(&file, FlockOperation::NonBlockingLockExclusive)? {
            return Err(held_by(&file));
        }
        // A process that removes a folder holds its lock while it does so. A lock file without a name (no links) therefore
        // belongs to a folder that was removed while this process waited.
        if file.metadata()?.nlink() == 0 {
            return Err(LockError::Removed);
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{holder}")?;
        Ok(Self { _file: file })
    }

    /// Takes the lock of a folder for reading only: no process works in it meanwhile, others may read too, and
    /// nothing is written. `None` if there is no lock file, so that no process has worked there yet.
    ///
    /// # Errors
    /// If a process works in the folder, something else has the name of the lock file, or the disk fails.
    pub fn take_to_read(folder: impl AsFd) -> Result<Option<Self>, LockError> {
        let file = match open(folder, OFlags::RDONLY) {
            Err(LockError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        if try_to_lock(&file, FlockOperation::NonBlockingLockShared)? {
            Ok(Some(Self { _file: file }))
        } else {
            Err(held_by(&file))
        }
    }

    /// Returns `true` if a process holds the lock of a folder; `false` if none does or there is no lock file.
    ///
    /// # Errors
    /// If something else has the name of the lock file, or the disk fails.
    pub fn is_taken(folder: impl AsFd) -> Result<bool, LockError> {
        let file = match open(folder, OFlags::RDONLY) {
            Err(LockError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file?,
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(Errno::WOULDBLOCK) => Ok(true),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }
}

fn open(folder: impl AsFd, flags: OFlags) -> Result<File, LockError> {
    let opened = openat(folder, Lock::NAME, flags | FLAGS, Mode::from_raw_mode(0o600));
    let file = opened.map(File::from).map_err(|error| {
        let error = io::Error::from(error);
        Obstacle::of(&error).map_or_else(|| error.into(), |by| LockError::Obstructed { by })
    })?;
    let metadata = file.metadata()?;
    match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => Ok(file),
        (_, true) => Err(LockError::Obstructed { by: Obstacle::Folder }),
        _ => Err(LockError::Obstructed { by: Obstacle::NotAFile }),
    }
}

/// Returns the error for a lock that is held, with the name that its holder wrote.
fn held_by(file: &File) -> LockError {
    let mut text = String::new();
    // The name is a courtesy: one that cannot be read does not change the answer.
    let _ = file.take(LONGEST_HOLDER).read_to_string(&mut text);
    let holder = text.lines().next().filter(|line| !line.trim().is_empty());
    LockError::Held { holder: holder.unwrap_or("another process").trim().to_owned() }
}

fn try_to_lock(file: &File, how: FlockOperation) -> Result<bool, LockError> {
    for attempt in 1..=ATTEMPTS {
        match flock(file, how) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if attempt < ATTEMPTS => std::thread::sleep(BETWEEN_ATTEMPTS),
            Err(Errno::WOULDBLOCK) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::{Lock, LockError};
    use crate::{Obstacle, RootFolder};

    #[test]
    fn a_second_taker_is_refused_and_learns_who_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RootFolder::open(dir.path()).unwrap();
        assert!(!Lock::is_taken(&folder).unwrap());
        let held = Lock::take(&folder, "process 7: publish").unwrap();
        assert!(Lock::is_taken(&folder).unwrap());
        let Err(LockError::Held { holder }) = Lock::take(&folder, "another") else { panic!("not refused") };
        assert_eq!(holder, "process 7: publish");
        assert!(matches!(Lock::take_to_read(&folder), Err(LockError::Held { .. })));
        drop(held);
        assert!(!Lock::is_taken(&folder).unwrap());
        Lock::take(&folder, "another").unwrap();
    }

    #[test]
    fn readers_share_a_folder_and_keep_others_from_working_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RootFolder::open(dir.path()).unwrap();
        assert!(Lock::take_to_read(&folder).unwrap().is_none());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        drop(Lock::take(&folder, "a run").unwrap());
        let readers = [Lock::take_to_read(&folder).unwrap(), Lock::take_to_read(&folder).unwrap()];
        assert!(readers.iter().all(Option::is_some));
        assert!(matches!(Lock::take(&folder, "another"), Err(LockError::Held { .. })));
        drop(readers);
        Lock::take(&folder, "another").unwrap();
    }

    #[test]
    fn b23_what_is_no_lock_file_is_refused_without_waiting_for_it() {
        for obstacle in [Obstacle::Folder, Obstacle::Link, Obstacle::NotAFile] {
            let dir = tempfile::tempdir().unwrap();
            let at = dir.path().join(Lock::NAME);
            match obstacle {
                Obstacle::Folder => fs::create_dir(&at).unwrap(),
                Obstacle::Link => symlink(dir.path().join("elsewhere"), &at).unwrap(),
                _ => mknodat(CWD, &at, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap(),
            }
            let folder = RootFolder::open(dir.path()).unwrap();
            for refused in [Lock::take(&folder, "").err(), Lock::is_taken(&folder).err()] {
                let Some(LockError::Obstructed { by }) = refused else { panic!("{obstacle:?}: {refused:?}") };
                assert_eq!(by, obstacle);
            }
        }
    }
}
