//! Options for patches.

use serde::{Deserialize, Serialize};

/// Patches (§14.4). They need the previous states of resources, also of unchanged ones, and so a second copy of all
/// resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PatchOptions {
    /// A patch is offered if it is smaller than this percentage of the resource; 50.
    pub share: u8,
    /// The largest resource with patches, in bytes; 8 MiB, which readers patch in memory.
    pub most_bytes: u64,
}

impl Default for PatchOptions {
    fn default() -> Self {
        Self { share: 50, most_bytes: 8 << 20 }
    }
}

impl PatchOptions {
    /// Returns the greatest length of a patch that is offered for a resource of this many bytes.
    pub(crate) fn longest(self, resource: u64) -> u64 {
        (resource.saturating_mul(u64::from(self.share.min(100))) / 100).saturating_sub(1)
    }
}
