//! The attributes of a file on which the decisions of a Source depend.

use rustix::fs::Stat;

use crate::catalogue::FileStamp;

/// Returns `true` if everybody may read the file: only then is it published by default (S11).
pub(super) fn is_for_others(stat: &Stat) -> bool {
    stat.st_mode & 0o004 != 0
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
