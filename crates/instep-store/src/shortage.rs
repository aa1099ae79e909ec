//! Limits of the machine that end a command although nothing is damaged: a full disk, and too many open files.

use std::{error::Error, io};

use rusqlite::{ErrorCode, ffi};
use rustix::io::Errno;

use crate::{ReserveReached, database::sqlite_error};

/// A resource of the machine of which nothing is left for this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shortage {
    /// The disk, or the quota of the user, has no room for more bytes or for another file, or no more than stays free.
    Room,
    /// This process, or all processes together, may open no further file.
    OpenFiles,
}

impl Shortage {
    /// Returns the shortage that an error or one of its causes reports; `None` if there is another reason, or if SQLite
    /// does not say which one.
    pub fn behind(error: &(dyn Error + 'static)) -> Option<Self> {
        Self::of(error).or_else(|| error.source().and_then(Self::behind))
    }

    fn of(cause: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(error) = sqlite_error(cause) {
            return lacks_room(error).then_some(Self::Room);
        }
        if cause.is::<ReserveReached>() {
            return Some(Self::Room);
        }
        let error = cause.downcast_ref::<io::Error>()?;
        // The source of an error of io that has another one in it is the source of that one, not that one itself.
        if let Some(inner) = error.get_ref() {
            return Self::behind(inner);
        }
        match Errno::from_io_error(error)? {
            Errno::NOSPC | Errno::DQUOT => Some(Self::Room),
            Errno::MFILE | Errno::NFILE => Some(Self::OpenFiles),
            _ => None,
        }
    }
}

/// Returns `true` if SQLite has no room for a database, or for the index of its log, which it makes when it opens the file.
fn lacks_room(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|fault| {
        fault.code == ErrorCode::DiskFull || fault.extended_code == ffi::SQLITE_IOERR_SHMSIZE
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("it fails")]
    struct Outer(#[source] Arc<rusqlite::Error>);

    #[test]
    fn a_shortage_is_found_behind_other_errors() {
        let behind = |errno: Errno| Shortage::behind(&io::Error::other(io::Error::from(errno)));
        assert_eq!(behind(Errno::NOSPC), Some(Shortage::Room));
        assert_eq!(behind(Errno::DQUOT), Some(Shortage::Room));
        assert_eq!(behind(Errno::MFILE), Some(Shortage::OpenFiles));
        assert_eq!(behind(Errno::IO), None, "a fault of the disk is no shortage");
        let folder = std::fs::File::open(std::env::temp_dir()).unwrap();
        let reached = crate::expect_space(&folder, Some(u64::MAX)).unwrap_err();
        assert_eq!(Shortage::behind(&io::Error::other(reached)), Some(Shortage::Room));
        let full = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None);
        assert_eq!(Shortage::behind(&full), Some(Shortage::Room));
    }

    #[test]
    fn o1027_a_full_disk_is_found_behind_a_shared_error_of_sqlite_and_when_a_file_is_opened() {
        let behind = |code| {
            let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            Shortage::behind(&Outer(Arc::new(failure)))
        };
        assert_eq!(behind(ffi::SQLITE_FULL), Some(Shortage::Room));
        assert_eq!(behind(ffi::SQLITE_IOERR_SHMSIZE), Some(Shortage::Room));
        assert_eq!(behind(ffi::SQLITE_IOERR_READ), None, "a fault of the disk is no shortage");
    }
}
