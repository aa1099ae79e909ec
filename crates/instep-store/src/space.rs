//! The free space of a disk, and the part of it that a program leaves free.

use std::{io, os::fd::AsFd};

/// The most bytes that stay free by default.
const MOST_RESERVED: u64 = 1 << 30;

/// The bytes written between two checks of the free space: one file may be larger than the reserve, and nobody may know
/// its length.
pub const WRITTEN_BETWEEN_LOOKS: u64 = 8 << 20;

/// A disk whose free space is not more than the part of it that stays free, as the cause of an [`io::Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("only {free} bytes are free on the disk, and {reserve} bytes stay free: make room")]
pub struct ReserveReached {
    /// The free bytes.
    pub free: u64,
    /// The number of bytes that stay free.
    pub reserve: u64,
}

/// The bytes that were written since the free space of a disk was checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpaceWatch {
    reserve: Option<u64>,
    unchecked: u64,
}

impl SpaceWatch {
    /// Returns a watch over a reserve, which [`free_space`] describes.
    pub fn new(reserve: Option<u64>) -> Self {
        Self { reserve, unchecked: 0 }
    }

    /// Counts bytes that were written, and checks the free space when there are many.
    ///
    /// # Errors
    /// As [`expect_space`].
    pub fn wrote(&mut self, of: impl AsFd, bytes: u64) -> io::Result<()> {
        self.unchecked = self.unchecked.saturating_add(bytes);
        if self.unchecked < WRITTEN_BETWEEN_LOOKS {
            return Ok(());
        }
        self.unchecked = 0;
        expect_space(of, self.reserve)
    }
}

/// The free space of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskSpace {
    /// The number of free bytes.
    pub free: u64,
    /// The number of bytes that stay free.
    pub reserve: u64,
}

impl DiskSpace {
    /// Returns the number of bytes that may be used: 0 if no more is free than stays free.
    pub fn usable(self) -> u64 {
        self.free.saturating_sub(self.reserve)
    }
}

/// Returns the space on the disk of an open file or folder. `reserve` stays free, by default 1 % of the disk, at most
/// 1 GiB. A disk without a size counts as one without a limit: file systems in user space need not state one, and have
/// zeros for all figures then.
///
/// # Errors
/// If the system does not report it.
pub fn free_space(of: impl AsFd, reserve: Option<u64>) -> io::Result<DiskSpace> {
    let space = rustix::fs::fstatvfs(of)?;
    if space.f_blocks == 0 {
        return Ok(DiskSpace { free: u64::MAX, reserve: 0 });
    }
    let share = space.f_blocks.saturating_mul(space.f_frsize) / 100;
    // `f_bavail` and not `f_bfree`: blocks that are reserved for the superuser cannot be used here.
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    Ok(DiskSpace { free, reserve: reserve.unwrap_or_else(|| share.min(MOST_RESERVED)) })
}

/// Expects that the disk of an open file or folder has more free space than stays free.
///
/// # Errors
/// If it has not, as if the disk were full ([`ReserveReached`]), or if the system does not report it.
pub fn expect_space(of: impl AsFd, reserve: Option<u64>) -> io::Result<()> {
    let space = free_space(of, reserve)?;
    if space.usable() > 0 {
        return Ok(());
    }
    let DiskSpace { free, reserve } = space;
    Err(io::Error::new(io::ErrorKind::StorageFull, ReserveReached { free, reserve }))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{DiskSpace, free_space};

    #[test]
    fn o857_a_file_system_that_states_no_size_is_not_full() {
        let unsized_folder = std::fs::File::open("/proc/self").unwrap();
        let no_limit = DiskSpace { free: u64::MAX, reserve: 0 };
        assert_eq!(free_space(&unsized_folder, None).unwrap(), no_limit);
        assert_eq!(free_space(&unsized_folder, Some(1 << 30)).unwrap(), no_limit);
    }
}
