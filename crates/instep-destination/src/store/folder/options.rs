//! The settings of a copy in a folder.

use std::path::PathBuf;

use crate::Durability;

/// Options of a copy in a folder.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub(crate) struct FolderOptions {
    /// The point at which a commit waits for the disk.
    pub durability: Durability,
    /// The number of bytes to leave free; `None` for 1 % of the disk, at most 1 GiB.
    pub reserve: Option<u64>,
    /// The folder for files that are replaced or removed.
    pub backups: Option<PathBuf>,
    /// The name of this run, for the messages of other runs that find the lock.
    pub owner: String,
}

impl FolderOptions {
    /// Returns the defaults: durable by groups, and no backups.
    pub(crate) fn new() -> Self {
        Self { owner: format!("process {}", std::process::id()), ..Self::default() }
    }
}
