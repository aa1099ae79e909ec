//! Inspects a single path, with the result that a walk would have for it.

use rustix::{
    fs::{AtFlags, FileType, statat},
    io::Errno,
};

use super::{
    filter,
    root::Root,
    stat::{is_for_others, stamp},
};
use crate::catalogue::FileStamp;

/// The result of looking at a path.
#[derive(Debug)]
pub(crate) enum PathContent {
    /// A file to publish, and the sets that take it.
    File(FileStamp, u64),
    /// A folder that a walk would enter.
    Folder,
    /// Nothing to publish: it does not exist, is hidden, left out or a link.
    Nothing,
    /// A file or folder that not everybody can read: its published state stays as it was.
    Unknown,
    /// A fault of the disk or of the system hides it: its published state stays, and a later scan looks again.
    Unreadable(Errno),
}

/// Inspects a path of a root, and the folders that lead to it.
pub(crate) fn look(root: &Root, path: &[u8], private_too: bool) -> PathContent {
    let (mut at, handle) = (0, root.handle());
    for name in path.split(|byte| *byte == b'/') {
        let end = at + name.len();
        let (here, last) = (&path[..end], end == path.len());
        at = end + 1;
        if filter::is_left_out(name) || root.is_left_out(here) {
            return PathContent::Nothing;
        }
        let stat = match statat(&*handle, here, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT | Errno::NOTDIR) => return PathContent::Nothing,
            Err(error) => return PathContent::Unreadable(error),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if root.prunes(here) => return PathContent::Nothing,
            FileType::Directory if !(private_too || stat.st_mode & 0o001 != 0) => {
                return PathContent::Unknown;
            }
            FileType::Directory if last => return PathContent::Folder,
            FileType::Directory => {}
            FileType::RegularFile if last && (private_too || is_for_others(&stat)) => {
                return match root.sets_of(path) {
                    0 => PathContent::Nothing,
                    sets => PathContent::File(stamp(&stat), sets),
                };
            }
            // It stays published as it was, because a changed mode is not a deletion.
            FileType::RegularFile if last => return PathContent::Unknown,
            _ => return PathContent::Nothing,
        }
    }
    PathContent::Nothing
}
