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

/// Returns the free bytes on the disk of an open file or folder, and the number of them that stay free: `reserve`, by
/// default 1 % of the disk, at most 1 GiB. A disk without a size counts as one without a limit: file systems in user
/// space need not state one, and have zeros for all figures then.
///
/// # Errors
/// If the system does not report them.
pub fn free_space(of: impl AsFd, reserve: Option<u64>) -> io::Result<(u64, u64)> {
    let space = rustix::fs::fstatvfs(of)?;
    if space.f_blocks == 0 {
        return Ok((u64::MAX, 0));
    }
    let share = space.f_blocks.saturating_mul(space.f_frsize) / 100;
    // `f_bavail` and not `f_bfree`: blocks that are reserved for the superuser cannot be used here.
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    Ok((free, reserve.unwrap_or_else(|| share.min(MOST_RESERVED))))
}

/// Expects that the disk of an open file or folder has more free space than stays free.
///
/// # Errors
/// If it has not, as if the disk were full ([`ReserveReached`]), or if the system does not report it.
pub fn expect_space(of: impl AsFd, reserve: Option<u64>) -> io::Result<()> {
    let (free, reserve) = free_space(of, reserve)?;
    if free > reserve {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::StorageFull, ReserveReached { free, reserve }))
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[test]
    fn o857_a_file_system_that_states_no_size_is_not_full() {
        let unsized_folder = std::fs::File::open("/proc/self").unwrap();
        assert_eq!(super::free_space(&unsized_folder, None).unwrap(), (u64::MAX, 0));
        assert_eq!(super::free_space(&unsized_folder, Some(1 << 30)).unwrap(), (u64::MAX, 0));
    }
}
