//! The folders of a copy with names that are not synced yet.

use std::{collections::BTreeSet, os::fd::OwnedFd, sync::Arc};

/// The folders that have names to sync, and the one that was used last.
#[derive(Debug, Default)]
pub(super) struct TouchedFolders {
    pub(super) touched: BTreeSet<String>,
    pub(super) last: Option<(String, Arc<OwnedFd>)>,
}
