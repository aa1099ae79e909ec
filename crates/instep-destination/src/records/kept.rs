//! The number of resources of a set that are kept although they are gone at the Source.

use serde::{Deserialize, Serialize};

use super::versioned;
use crate::state::{ReadState, SetId, Setting, StateError};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct KeptCount {
    kept: u64,
}

/// Reads the number for a set; 0 if none was recorded.
pub(crate) fn read(state: &dyn ReadState, set: SetId) -> Result<u64, StateError> {
    let kept: Option<KeptCount> = versioned::read(state, &name(set), VERSION)?;
    Ok(kept.map_or(0, |KeptCount { kept }| kept))
}

/// Returns the record of the number for a set.
pub(crate) fn setting(state: &dyn ReadState, set: SetId, kept: u64) -> Result<Setting, StateError> {
    versioned::setting(state, &name(set), VERSION, &KeptCount { kept })
}

fn name(set: SetId) -> String {
    format!("kept {}", set.0)
}
