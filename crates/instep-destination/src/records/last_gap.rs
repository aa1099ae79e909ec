//! The record of the end of the last gap in the changes of a set: a change before it may have been missed, a later one
//! was not. The time of an inventory is such an end, because a resource that it names may be gone in the next one
//! without a change that states the deletion. If an inventory states no time, the end is the time that the copy had reached
//! before.

use resourcesync::DateTime;
use serde::{Deserialize, Serialize};

use super::versioned;
use crate::state::{CopyState, ReadState, SetId, Setting, StateError};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct LastGap {
    /// The time at which the listed changes begin again, as the Source writes it.
    ends: String,
}

/// Reads the end of the last gap of a set; `None` if there was none.
pub(crate) fn read(state: &dyn ReadState, set: SetId) -> Result<Option<DateTime>, StateError> {
    let name = name(set);
    let gap: Option<LastGap> = versioned::read(state, &name, VERSION)?;
    let time = |LastGap { ends }| {
        DateTime::parse(&ends).map_err(|error| versioned::damaged(state, &name, error.to_string()))
    };
    gap.map(time).transpose()
}

/// Records the end of the last gap of a set.
pub(crate) fn write(state: &mut dyn CopyState, set: SetId, ends: DateTime) -> Result<(), StateError> {
    versioned::write(state, &name(set), VERSION, &LastGap { ends: ends.to_string() })
}

/// Returns the record of the end of the last gap of a set.
pub(crate) fn setting(state: &dyn ReadState, set: SetId, ends: DateTime) -> Result<Setting, StateError> {
    versioned::setting(state, &name(set), VERSION, &LastGap { ends: ends.to_string() })
}

/// Returns the name of the record of a set.
pub(crate) fn name(set: SetId) -> String {
    format!("gap {}", set.0)
}
