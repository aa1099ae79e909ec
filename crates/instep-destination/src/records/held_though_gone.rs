//! A record of each set that may hold resources although their deletion is known, because deletions were not allowed or
//! were refused (O56). Other sets need not be searched for such resources.

use serde::{Deserialize, Serialize};

use super::versioned;
use crate::state::{CopyState, ReadState, SetId, StateError};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct HeldThoughGone {
    is_possible: bool,
}

/// Returns `true` if a set may hold resources although their deletion is known.
pub(crate) fn read(state: &dyn ReadState, set: SetId) -> Result<bool, StateError> {
    let held: Option<HeldThoughGone> = versioned::read(state, &name(set), VERSION)?;
    Ok(held.is_some_and(|held| held.is_possible))
}

/// Records if a set may hold resources although their deletion is known.
pub(crate) fn write(state: &mut dyn CopyState, set: SetId, is_possible: bool) -> Result<(), StateError> {
    versioned::write(state, &name(set), VERSION, &HeldThoughGone { is_possible })
}

/// Returns the name of the record of a set.
pub(crate) fn name(set: SetId) -> String {
    format!("held though gone {}", set.0)
}
