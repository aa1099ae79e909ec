use std::{
    fs::File,
    io::{Read as _, Seek as _, Write as _},
    os::fd::OwnedFd,
    path::Path,
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags},
    io::Errno,
};

use super::{StoreError, beneath::explain};

const NAME: &str = "lock";

/// How often it is tried, so far apart: who only looks whether it is taken has it for an instant.
const ATTEMPTS: u32 = 4;
const APART: Duration = Duration::from_millis(5);

/// Held while this value lives; a killed holder frees it at once.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a copy in its own folder, or says who has it.
    pub(super) fn take(own: &OwnedFd, root: &Path, owner: &str) -> Result<Self, StoreError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(own, NAME, flags, Mode::from_raw_mode(0o600))
            .map_err(|error| explain("open the lock", NAME, error))?;
        let mut file = File::from(fd);
        match try_lock(&file) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut owner = String::new();
                // Who holds it is a courtesy: an unreadable name does not change the answer.
                let _ = file.read_to_string(&mut owner);
                let owner = if owner.trim().is_empty() { "another run" } else { owner.trim() };
                return Err(StoreError::Locked { path: root.to_owned(), owner: owner.to_owned() });
            }
            Err(error) => return Err(explain("lock", NAME, error)),
        }
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{owner}")
        };
        write(&mut file).map_err(|error| StoreError::io("write the lock", NAME, error))?;
        Ok(Self { _file: file })
    }
}

fn try_lock(file: &File) -> Result<(), Errno> {
    for _ in 1..ATTEMPTS {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(APART),
            result => return result,
        }
    }
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)
}
