//! The figures of a fleet since its process began.

use std::collections::BTreeMap;

/// Figures of a fleet since its process began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetFigures {
    /// Sources with a look in progress.
    pub running: usize,
    /// Sources that are due again and wait for a slot.
    pub ready: usize,
    /// Sources that were never visited and wait for a slot.
    pub ready_new: usize,
    /// Finished looks, by exit code.
    pub looks: BTreeMap<u8, u64>,
    /// Resources that were created, updated or deleted.
    pub changed: u64,
    /// Bytes of resources that were transferred.
    pub transferred: u64,
    /// Bytes of all copies.
    pub bytes: u64,
    /// Hosts that are paused, each with the remaining seconds.
    pub waiting: Vec<(String, u64)>,
    /// The reason why no look begins.
    pub held_back: Option<String>,
    /// The fault for which the record of the fleet cannot be read or written now.
    pub record_fault: Option<String>,
    /// The fault for which looks cannot use the database or the object storage of their copies now.
    pub outage: Option<String>,
}
