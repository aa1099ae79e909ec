//! Options for Resource Dumps and Change Dumps.

use std::time::Duration;

/// Options for Resource Dumps and Change Dumps.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DumpOptions {
    /// Decides if there is a Resource Dump (§11).
    pub policy: DumpPolicy,
    /// The largest set, in bytes of its resources, that has a Resource Dump with [`DumpPolicy::Auto`]; 1 GiB.
    pub auto_bytes: u64,
    /// The most bytes of resources in one package; 1 GiB. A larger resource has its own package.
    pub part_bytes: u64,
    /// The most resources, or changes, in one package; 50,000.
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
    /// There is one while the set has at most [`DumpOptions::auto_bytes`].
    Auto,
    /// There is one, whatever the size of the set.
    Always,
    /// There is none.
    #[default]
    Never,
}
