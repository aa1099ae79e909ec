//! The settings of a copy in a folder.

use std::path::PathBuf;

use crate::Durability;

/// Options of a copy in a folder.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub(crate) struct FolderOptions {
    /// The waiting of a commit for the disk.
    pub durability: Durability,
    /// Bytes to leave free; `None` for 1 % of the disk, at most 1 GiB.
    pub reserve: Option<u64>,
    /// The folder for files that are replaced or removed.
    pub backups: Option<PathBuf>,
    /// The name of this run, for the message that others get.
    pub owner: String,
}

impl FolderOptions {
    /// Durable by groups, no backups.
    pub(crate) fn new() -> Self {
        Self { owner: format!("process {}", std::process::id()), ..Self::default() }
    }
}
