//! Options for Resource Dumps and Change Dumps.

use std::time::Duration;

/// Options for Resource Dumps and Change Dumps.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DumpOptions {
    /// Decides if there is a Resource Dump (§11).
    pub policy: DumpPolicy,
    /// With [`DumpPolicy::Auto`]: bytes of resources up to which there is one; 1 GiB.
    pub auto_bytes: u64,
    /// Bytes of resources in one package; 1 GiB. A larger resource has its own package.
    pub part_bytes: u64,
    /// Resources in one package; 50,000.
    pub part_entries: u64,
    /// The age at which a Resource Dump is renewed together with the next change; 24 h.
    pub every: Duration,
    /// Publishes a Change Dump (§13); it needs the past states of the resources.
    pub changes: bool,
    /// The age of the oldest unpacked change at which changes are packed. Without it [`crate::publish`] packs them at
    /// once, because it may not run again, and a Source that stays open packs them every hour.
    pub changes_every: Option<Duration>,
}

impl Default for DumpOptions {
    fn default() -> Self {
        Self {
            policy: DumpPolicy::Never,
            auto_bytes: 1 << 30,
            part_bytes: 1 << 30,
            part_entries: 50_000,
            every: Duration::from_secs(24 * 3_600),
            changes: false,
            changes_every: None,
        }
    }
}

/// The condition under which there is a Resource Dump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DumpPolicy {
    /// A Resource Dump while the set is small enough.
    Auto,
    /// At any size.
    Always,
    /// None.
    #[default]
    Never,
}
