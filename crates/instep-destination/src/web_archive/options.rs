//! Options of a web archive.

use std::path::PathBuf;

/// The place where exchanges are stored as WARC.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveOptions {
    /// The folder of the WARC files and their indexes.
    pub dir: PathBuf,
    /// The number of bytes after which a file is closed and the next one begins.
    pub file_bytes: u64,
}

impl ArchiveOptions {
    /// Returns options for files of 1 GiB in a folder.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), file_bytes: 1 << 30 }
    }
}
