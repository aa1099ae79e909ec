//! Options for patches.

use serde::{Deserialize, Serialize};

/// Patches (§14.4): they need the states before, present ones too, and so the bytes of all resources once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PatchOptions {
    /// A patch is offered when it is smaller than so many hundredths of the resource; 50.
    pub share: u8,
    /// Bytes of a resource up to which there are patches for it; 8 MiB, which is what readers patch in memory.
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
