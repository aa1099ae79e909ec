//! The time that a set had reached when the clock of its Source went back behind it (O45): times up to it do not show
//! which of two states is newer.

use resourcesync::DateTime;
use serde::{Deserialize, Serialize};

use super::versioned;
use crate::state::{CopyState, ReadState, SetId, StateError};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct ClockStep {
    /// The time of the last change before the clock went back, as the Source writes it.
    behind: String,
    /// `true` once an inventory of a later time was applied.
    is_over: bool,
}

/// Reads the time behind which the clock of the Source went back; `None` if a later inventory was applied since.
pub(crate) fn read(state: &dyn ReadState, set: SetId) -> Result<Option<DateTime>, StateError> {
    let name = name(set);
    let step: Option<ClockStep> = versioned::read(state, &name, VERSION)?;
    let time = |ClockStep { behind, .. }| {
        DateTime::parse(&behind).map_err(|error| versioned::damaged(state, &name, error.to_string()))
    };
    step.filter(|step| !step.is_over).map(time).transpose()
}

/// Records the time behind which the clock of the Source went back; `is_over` if a later inventory was applied.
pub(crate) fn write(
    state: &mut dyn CopyState,
    set: SetId,
    behind: DateTime,
    is_over: bool,
) -> Result<(), StateError> {
    versioned::write(state, &name(set), VERSION, &ClockStep { behind: behind.to_string(), is_over })
}

/// Returns the name of the record of a set.
pub(crate) fn name(set: SetId) -> String {
    format!("clock {}", set.0)
}
