//! Groups that become durable together.

use std::{io, os::fd::AsFd};

/// Makes everything on the file system of an open file or folder durable.
///
/// # Errors
/// If the disk fails.
pub fn sync_file_system(on: impl AsFd) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return Ok(rustix::fs::syncfs(on)?);
    // `syncfs` exists on Linux only. Other systems can only sync all file systems at once.
    #[cfg(not(target_os = "linux"))]
    {
        let _ = on;
        rustix::fs::sync();
        Ok(())
    }
}

/// Makes the members of a group durable: separately with `one` if there are at most `most_one_by_one`, otherwise all
/// of them with their file system.
///
/// A disk without a battery takes some milliseconds for each wait, so a thousand small files one by one take seconds.
/// One call for the file system waits once, but also for the writes of others: for a few files it is slower.
///
/// # Errors
/// If the disk fails, or `one` does.
pub fn sync_group<T>(
    group: impl ExactSizeIterator<Item = T>,
    most_one_by_one: usize,
    file_system: impl AsFd,
    one: impl FnMut(T) -> io::Result<()>,
) -> io::Result<()> {
    if group.len() > most_one_by_one {
        return sync_file_system(file_system);
    }
    let mut group = group;
    group.try_for_each(one)
}
