//! Options for prior versions.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Prior versions (§14.6): their number and age. They need a second copy of all resources, and the bytes of each
/// version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VersionOptions {
    /// The most versions of one resource, the present one included; 100.
    pub count: usize,
    /// The longest time since the version was superseded; 365 days.
    pub age: Duration,
}

impl Default for VersionOptions {
    fn default() -> Self {
        Self { count: 100, age: Duration::from_secs(365 * 24 * 3_600) }
    }
}
