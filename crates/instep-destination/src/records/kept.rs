//! The record of the number of resources of a set that stay although they are gone at the Source.
//!
//! Resources whose time of deletion is known are rows of the state, and are counted there, so a kill cannot make the
//! number wrong. The others have no rows, and only their number is recorded.

use serde::{Deserialize, Serialize};

use super::versioned;
use crate::state::{KeptDeletion, ReadState, SetId, Setting, StateError};

const VERSION: u32 = 2;
/// The number of rows that are read at a time.
const PAGE: usize = 1_000;

/// The resources of a set that stay although they are gone at the Source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptResources {
    /// The number of these resources.
    pub(crate) all: u64,
    /// The number of those whose time of deletion is unknown.
    pub(crate) undated: u64,
}

#[derive(Serialize, Deserialize)]
struct Undated {
    undated: u64,
}

/// The record of the first version, which had the number of all.
#[derive(Deserialize)]
struct All {
    kept: u64,
}

/// Reads the numbers for a set; 0 if none was recorded.
pub(crate) fn read(state: &dyn ReadState, set: SetId) -> Result<KeptResources, StateError> {
    let dated = count_dated(state, set)?;
    let name = name(set);
    let undated = match versioned::version(state, &name)? {
        Some(1) => versioned::read(state, &name, 1)?.map_or(0, |All { kept }| kept.saturating_sub(dated)),
        _ => versioned::read(state, &name, VERSION)?.map_or(0, |Undated { undated }| undated),
    };
    Ok(KeptResources { all: dated + undated, undated })
}

fn count_dated(state: &dyn ReadState, set: SetId) -> Result<u64, StateError> {
    let (mut count, mut after) = (0, None::<String>);
    while state.keeps_deletions(set)? {
        let page = state.held_though_gone_after(set, after.as_deref(), PAGE)?;
        let Some(last) = page.last() else { break };
        after = Some(last.uri.as_str().to_owned());
        count += page.iter().filter(|one| KeptDeletion::is_kept(one)).count() as u64;
    }
    Ok(count)
}

/// Returns the record of the numbers for a set.
pub(crate) fn setting(
    state: &dyn ReadState,
    set: SetId,
    KeptResources { undated, .. }: KeptResources,
) -> Result<Setting, StateError> {
    versioned::setting(state, &name(set), VERSION, &Undated { undated })
}

/// Returns the name of the record of a set.
pub(crate) fn name(set: SetId) -> String {
    format!("kept {}", set.0)
}
