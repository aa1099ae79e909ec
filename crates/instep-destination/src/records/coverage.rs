//! The record of the coverage of a set after its last plan was carried out.

use resourcesync::DateTime;
use serde::{Deserialize, Serialize};

use super::versioned;
use crate::{
    plan::Coverage,
    state::{CopyState, ReadState, SetId, Setting, StateError},
};

const VERSION: u32 = 1;

/// The coverage as it is stored, with times as the Source writes them.
#[derive(Serialize, Deserialize)]
#[serde(tag = "coverage", rename_all = "snake_case")]
enum WrittenCoverage {
    Complete { at: Option<String> },
    ChangesKnown { since: String },
    Unknown,
}

/// Reads the coverage of a set; `None` if none was recorded.
pub(crate) fn read(state: &dyn ReadState, set: SetId) -> Result<Option<Coverage>, StateError> {
    let name = name(set);
    let time = |text: String| {
        DateTime::parse(&text).map_err(|error| versioned::damaged(state, &name, error.to_string()))
    };
    let written = versioned::read(state, &name, VERSION)?;
    written
        .map(|written| {
            Ok(match written {
                WrittenCoverage::Complete { at } => Coverage::Complete { at: at.map(time).transpose()? },
                WrittenCoverage::ChangesKnown { since } => Coverage::ChangesKnown { since: time(since)? },
                WrittenCoverage::Unknown => Coverage::Unknown,
            })
        })
        .transpose()
}

/// Records the coverage of a set at once.
pub(crate) fn write(state: &mut dyn CopyState, set: SetId, coverage: Coverage) -> Result<(), StateError> {
    versioned::write(state, &name(set), VERSION, &WrittenCoverage::from(coverage))
}

/// Returns the record of the coverage of a set.
pub(crate) fn setting(state: &dyn ReadState, set: SetId, coverage: Coverage) -> Result<Setting, StateError> {
    versioned::setting(state, &name(set), VERSION, &WrittenCoverage::from(coverage))
}

impl From<Coverage> for WrittenCoverage {
    fn from(coverage: Coverage) -> Self {
        match coverage {
            Coverage::Complete { at } => Self::Complete { at: at.map(|at| at.to_string()) },
            Coverage::ChangesKnown { since } => Self::ChangesKnown { since: since.to_string() },
            Coverage::Unknown => Self::Unknown,
        }
    }
}

/// Returns the name of the record of a set.
pub(crate) fn name(set: SetId) -> String {
    format!("coverage {}", set.0)
}
