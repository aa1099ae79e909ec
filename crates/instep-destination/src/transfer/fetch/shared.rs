//! The means that all transfers of a fetcher share.

use std::sync::{Arc, atomic::AtomicU64};

use instep_net::Client;
use tokio::sync::Semaphore;

use crate::{Verify, store::StagingArea};

/// The means that all transfers of a fetcher share.
pub(super) struct SharedTransfer {
    pub(super) client: Client,
    pub(super) store: Arc<dyn StagingArea>,
    pub(super) verify: Verify,
    pub(super) bytes: AtomicU64,
    /// Admits one resource at a time to being fetched in parts, because the parts wait in memory.
    pub(super) in_parts: Semaphore,
    pub(super) parts: PartSizes,
}

/// The size from which on resources are fetched in parallel parts, and the size of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct PartSizes {
    /// The size from which on a resource is fetched in parts, in bytes; 64 MiB unless another one is chosen.
    pub from: u64,
    /// The size of one part in bytes; 4 MiB unless another one is chosen.
    pub bytes: u64,
}

impl PartSizes {
    /// Returns parts of `bytes` bytes for resources of at least `from` bytes.
    pub(crate) fn new(from: u64, bytes: u64) -> Self {
        Self { from, bytes: bytes.max(1) }
    }
}

impl Default for PartSizes {
    fn default() -> Self {
        Self::new(64 << 20, 4 << 20)
    }
}
