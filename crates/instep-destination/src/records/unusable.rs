//! The record of the entries of a set's documents that could not be used. It stays until an inventory without such
//! entries was read.

use serde::{Deserialize, Serialize};

use super::versioned;
use crate::state::{ReadState, SetId, Setting, StateError};

const VERSION: u32 = 1;

/// Entries that could not be used: their resources may be missing, or behind (B27).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnusableEntries {
    pub(crate) count: u64,
    /// The URI of the first one, or of its document.
    pub(crate) uri: String,
    /// The reason why the first one could not be used.
    pub(crate) what: String,
    /// The origins to which documents were allowed to lead. With another scope, the entries may be usable.
    pub(crate) scope: String,
}

impl UnusableEntries {
    /// Reads the record for a set; empty if nothing was recorded.
    pub(crate) fn read(state: &dyn ReadState, set: SetId) -> Result<Self, StateError> {
        Ok(versioned::read(state, &name(set), VERSION)?.unwrap_or_default())
    }

    /// Returns the record as it is written for a set.
    pub(crate) fn setting(&self, state: &dyn ReadState, set: SetId) -> Result<Setting, StateError> {
        versioned::setting(state, &name(set), VERSION, self)
    }

    /// Returns the larger of two counts, with its first entry.
    pub(crate) fn most(self, other: Self) -> Self {
        if other.count > self.count { other } else { self }
    }
}

/// Returns the name of the record of a set.
pub(crate) fn name(set: SetId) -> String {
    format!("unusable {}", set.0)
}
