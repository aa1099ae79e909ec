//! Things that keep a name from being used.

use std::io;

use rustix::io::Errno;

/// A thing that prevents the use of one name, while the rest of the disk works.
///
/// A caller can report it for that name and continue with the others. Any other error concerns the disk itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Obstacle {
    /// A symbolic link: none is followed.
    #[error("a link")]
    Link,
    /// Another file system is mounted here: nothing can be renamed into it or over it.
    #[error("a mount point")]
    MountPoint,
    /// A file, or something else, where a folder is needed.
    #[error("something that is not a folder")]
    NotAFolder,
    /// A folder where a file is needed, or one that is not empty.
    #[error("a folder")]
    Folder,
    /// A pipe, a socket or a device where a file is needed.
    #[error("something that is not a file")]
    NotAFile,
    /// A file that something else wrote.
    #[error("a file that is not of this copy")]
    UnknownFile,
    /// The file system takes shorter names only.
    #[error("its length: this file system allows only shorter names")]
    NameTooLong,
}

impl Obstacle {
    /// Returns the obstacle for an error; `None` if it is an error of another kind.
    pub fn of(error: &io::Error) -> Option<Self> {
        if let Some(obstacle) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
            return Some(*obstacle);
        }
        Some(match Errno::from_io_error(error)? {
            Errno::LOOP => Self::Link,
            // Of a rename or a hard link: opening beneath a root crosses mount points.
            Errno::XDEV | Errno::BUSY => Self::MountPoint,
            Errno::NOTDIR => Self::NotAFolder,
            Errno::ISDIR | Errno::NOTEMPTY => Self::Folder,
            // Opening a socket, or a device without a driver.
            Errno::NXIO => Self::NotAFile,
            Errno::NAMETOOLONG => Self::NameTooLong,
            _ => return None,
        })
    }
}

impl From<Obstacle> for io::Error {
    fn from(obstacle: Obstacle) -> Self {
        Self::other(obstacle)
    }
}
