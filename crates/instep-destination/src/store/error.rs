//! The errors of a store. Some concern one resource, others end the run.

use std::{io, path::PathBuf};

use instep_objects::{Bucket, BucketError};
use instep_store::{DiskSpace, Obstacle};

/// A step that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another run works on the copy: this one ends before it reads anything (exit code 7).
    #[error("{} is in use by {owner}", path.display())]
    Locked {
        /// The copy.
        path: PathBuf,
        /// The run that holds it.
        owner: String,
    },
    /// No file is left of a copy whose state holds resources: its disk may not be mounted (D35, exit code 6).
    #[error("{} holds no file of the copy any more; its disk may not be mounted", path.display())]
    NotTheCopy {
        /// The place where it should be.
        path: PathBuf,
    },
    /// No object is left in the bucket of a copy whose state holds resources (D35, exit code 6).
    #[error("{place} holds no object of the copy any more; check the bucket, its prefix and the service")]
    NoObjects {
        /// The place where they should be.
        place: String,
    },
    /// The object storage of the copy refused a request, or did not answer (exit code 8).
    #[error("{source}")]
    Bucket {
        /// The attempt that failed.
        doing: &'static str,
        /// The path.
        place: String,
        /// The reason, and what to do.
        source: BucketError,
    },
    /// The folder for backups overlaps with the copy: a backup could have the name of a resource.
    #[error("{} cannot be used for backups: it overlaps with the copy in {}; choose a separate folder", backups.display(), copy.display())]
    BackupsInCopy {
        /// The folder of the backups.
        backups: PathBuf,
        /// The copy.
        copy: PathBuf,
    },
    /// Something that instep did not create blocks one resource: a link, a foreign file or folder.
    #[error("{path} is blocked by {by}: move it away")]
    Blocked {
        /// The path in the copy.
        path: String,
        /// The file, folder or link that has its name.
        by: Obstacle,
    },
    /// The free space is less than the reserve (exit code 8).
    #[error(
        "Only {free} bytes are free on the disk of the copy, {reserve} of them reserved: make space and run again"
    )]
    Reserve {
        /// Free bytes.
        free: u64,
        /// The reserve.
        reserve: u64,
    },
    /// A call of the system failed (exit code 8).
    #[error("Could not {doing} {path}")]
    Io {
        /// The attempt that failed.
        doing: &'static str,
        /// The path.
        path: String,
        /// The reason that the system gives.
        source: io::Error,
    },
}

impl StoreError {
    /// Returns the error for a failed call: an obstacle that blocks one resource, or a fault of the disk, which
    /// concerns all of them.
    pub(crate) fn of(doing: &'static str, path: &str, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        match Obstacle::of(&error) {
            Some(by) => Self::Blocked { path: path.to_owned(), by },
            None => Self::io(doing, path, error),
        }
    }

    pub(crate) fn io(doing: &'static str, path: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Io { doing, path: path.into(), source: source.into() }
    }

    pub(crate) fn reserve_reached(space: DiskSpace) -> Self {
        Self::Reserve { free: space.free, reserve: space.reserve }
    }

    /// Returns the error for a failure of object storage, about one object or a whole place. A missing object is
    /// reported like a missing file.
    pub(crate) fn of_bucket(doing: &'static str, key: &str, bucket: &Bucket, source: BucketError) -> Self {
        let separator = if key.is_empty() { "" } else { "/" };
        let place = format!("{}{separator}{key}", bucket.place());
        if source.is_missing() {
            return Self::io(doing, place, io::Error::new(io::ErrorKind::NotFound, source));
        }
        if source.is_short() {
            return Self::io(doing, place, io::Error::new(io::ErrorKind::InvalidData, source));
        }
        Self::Bucket { doing, place, source }
    }

    /// Returns `true` if the bytes exist but cannot be those that were written.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::InvalidData)
    }

    /// Returns `true` if only one resource is affected, so that the run continues with the others. A folder in the copy
    /// that cannot be entered or written costs only the resources in it, not the run (B24).
    pub fn concerns_one_resource(&self) -> bool {
        match self {
            Self::Blocked { .. } => true,
            Self::Io { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
            _ => false,
        }
    }

    /// Returns `true` if space, quota, a read-only disk, a limit on files or the disk itself is the cause (exit code
    /// 8).
    pub fn is_storage(&self) -> bool {
        matches!(self, Self::Reserve { .. } | Self::Io { .. } | Self::Bucket { .. })
    }

    /// Returns `true` if the step may succeed after space or open files were freed.
    pub fn is_exhaustion(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        match self {
            Self::Reserve { .. } => true,
            Self::Io { source, .. } => {
                matches!(source.kind(), StorageFull | QuotaExceeded)
                    || matches!(
                        rustix::io::Errno::from_io_error(source),
                        Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE)
                    )
            }
            _ => false,
        }
    }
}
