//! The attributes of a file on which the decisions of a Source depend.

use std::{fs::File, io};

use instep_store::RootFolder;
use rustix::fs::{AtFlags, FileType, Stat, fstat, statat};

use crate::catalogue::FileStamp;

/// Returns `true` if everybody may read the file: only then is it published by default (S11).
pub(super) fn is_for_others(stat: &Stat) -> bool {
    stat.st_mode & 0o004 != 0
}

/// Returns `true` if not everybody may read an open file by its path below a folder, as since a permission was removed. A
/// scan leaves the entry of such a file as it was, so it has to be checked where bytes are given away (O952).
pub(crate) fn is_private(folder: &RootFolder, path: &[u8], file: &File) -> io::Result<bool> {
    let stat = fstat(file)?;
    if FileType::from_raw_mode(stat.st_mode).is_file() && !is_for_others(&stat) {
        return Ok(true);
    }
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    for (end, _) in slashes {
        if statat(folder, &path[..end], AtFlags::SYMLINK_NOFOLLOW)?.st_mode & 0o001 == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the attributes that change when the bytes of a file do.
pub(crate) fn stamp(stat: &Stat) -> FileStamp {
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    FileStamp {
        length: stat.st_size as u64,
        mtime_ns: nanos(stat.st_mtime, stat.st_mtime_nsec as i64),
        ctime_ns: nanos(stat.st_ctime, stat.st_ctime_nsec as i64),
        inode: stat.st_ino,
    }
}
