//! The past of a copy, read from its state alone: its runs with their problems, how far it had come, and what is retried by
//! the next run.

use std::path::Path;

use resourcesync::DateTime;

use crate::{
    Error, PastRun, PendingRetry,
    run::LocalCopy,
    state::{ReachedPoint, ReadState},
};

/// Returns the newest runs over a copy, the newest first. It does not use the network, and works while a run uses the copy.
///
/// # Errors
/// If the folder holds no copy, or the state cannot be read.
pub fn past_runs(dir: &Path, most: usize) -> Result<Vec<PastRun>, Error> {
    Ok(state(dir)?.past_runs(most)?)
}

/// Returns how far a copy had come after its runs since a time, the oldest first, and after the last run before it. Of the runs
/// that ended in one minute only the last counts; the newest 10,000 points are kept.
///
/// # Errors
/// As for [`past_runs`].
pub fn reached_since(dir: &Path, since: DateTime) -> Result<Vec<ReachedPoint>, Error> {
    Ok(state(dir)?.reached_since(since)?)
}

/// Returns the pending retries of a copy, in the order of their URIs, from the first one behind `after`.
///
/// # Errors
/// As for [`past_runs`].
pub fn pending_retries(dir: &Path, after: &str, most: usize) -> Result<Vec<PendingRetry>, Error> {
    Ok(state(dir)?.pending_retries(after, most)?)
}

fn state(dir: &Path) -> Result<Box<dyn ReadState>, Error> {
    if !LocalCopy::is_at(dir) {
        return Err(Error::NoCopy { dir: dir.to_owned() });
    }
    Ok(LocalCopy::state_of(dir)?.open_beside()?)
}
