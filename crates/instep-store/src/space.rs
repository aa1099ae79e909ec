//! The free space of a disk, and the part of it that a program leaves free.

use std::{io, os::fd::AsFd};

/// The most bytes that stay free by default.
const MOST_RESERVED: u64 = 1 << 30;

/// Returns the free bytes on the disk of an open file or folder, and the number of them that stay free: `reserve`, by
/// default 1 % of the disk, at most 1 GiB.
///
/// # Errors
/// If the system does not report them.
pub fn free_space(of: impl AsFd, reserve: Option<u64>) -> io::Result<(u64, u64)> {
    let space = rustix::fs::fstatvfs(of)?;
    let share = space.f_blocks.saturating_mul(space.f_frsize) / 100;
    // `f_bavail` and not `f_bfree`: blocks that are reserved for the superuser cannot be used here.
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    Ok((free, reserve.unwrap_or_else(|| share.min(MOST_RESERVED))))
}
