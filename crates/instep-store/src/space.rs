//! The free space of a disk, and the part of it that a program leaves free.

use std::{io, os::fd::AsFd};

/// The most bytes that stay free by default.
const MOST_RESERVED: u64 = 1 << 30;

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
