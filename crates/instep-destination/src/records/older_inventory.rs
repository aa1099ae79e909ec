//! A record of each set whose inventory was refused because it was older than the one that was applied (O707): the next run
//! that only reads changes looks at it again.

use serde::{Deserialize, Serialize};

use super::versioned;
use crate::state::{CopyState, ReadState, SetId, StateError};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct OlderInventory {
    is_open: bool,
}

/// Returns `true` if the inventory of a set was older when it was read last.
pub(crate) fn read(state: &dyn ReadState, set: SetId) -> Result<bool, StateError> {
    let older: Option<OlderInventory> = versioned::read(state, &name(set), VERSION)?;
    Ok(older.is_some_and(|older| older.is_open))
}

/// Records if the inventory of a set is older than the one that was applied.
pub(crate) fn write(state: &mut dyn CopyState, set: SetId, is_open: bool) -> Result<(), StateError> {
    versioned::write(state, &name(set), VERSION, &OlderInventory { is_open })
}

/// Returns the name of the record of a set.
pub(crate) fn name(set: SetId) -> String {
    format!("older inventory {}", set.0)
}
