//! The check that the place of a copy is there: a disk that is not mounted looks like a copy whose files are gone.

use std::collections::HashSet;

use super::error::CommitError;
use crate::{
    state::{HeldResource, Operation, ReadState, StateError},
    store::{CopyStore, StoreError},
};

/// The number of held resources that are read at a time.
const PAGE: usize = 100;

/// Checks that a file or object of the copy is there, if there should be one (D35).
///
/// # Errors
/// If there is none although the state holds resources, or if store or state fail.
pub(crate) fn check_is_there(
    store: &CopyStore,
    state: &(impl ReadState + ?Sized),
) -> Result<(), CommitError> {
    if state.held_after(None, 1)?.is_empty() {
        return Ok(());
    }
    match store.expect_bytes() {
        Err(StoreError::NotTheCopy { .. } | StoreError::NoObjects { .. }) if !expects_files(state)? => Ok(()),
        found => Ok(found?),
    }
}

/// Returns `true` if the state holds a resource whose file should be there. Prior versions are in our own folder
/// (O640), and a run that was killed may have removed files without recording it (O641): recovery does that later.
fn expects_files(state: &(impl ReadState + ?Sized)) -> Result<bool, StateError> {
    let mut removed = HashSet::new();
    for (_, operations) in state.intents()? {
        for operation in operations {
            if let Operation::Remove { uri, .. } = operation {
                removed.insert(uri.to_string());
            }
        }
    }
    let mut after: Option<String> = None;
    loop {
        let page = state.held_after(after.as_deref(), PAGE)?;
        let Some(last) = page.last() else { return Ok(false) };
        after = Some(last.uri.to_string());
        let expects = |held: &HeldResource| {
            held.path.resource_of_version().is_none() && !removed.contains(held.uri.as_str())
        };
        if page.iter().any(expects) {
            return Ok(true);
        }
    }
}
