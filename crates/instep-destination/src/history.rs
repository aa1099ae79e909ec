//! The past of a copy, read from its state alone: its runs with their problems, its progress, and its pending retries.
//! The present figures are in `status.rs`.

use resourcesync::DateTime;

use crate::{
    CopyLocation, Error, PastRun, PendingRetry,
    run::LocalCopy,
    state::{ReachedPoint, ReadState},
};

impl CopyLocation {
    /// Returns up to `most` runs over the copy, the newest first. It does not use the network, and works while a run
    /// uses the copy.
    ///
    /// # Errors
    /// If there is no copy, or the state cannot be read.
    pub fn past_runs(&self, most: usize) -> Result<Vec<PastRun>, Error> {
        Ok(state(self)?.past_runs(most)?)
    }

    /// Returns the progress of the copy after its runs since a time, the oldest first, and after the last run before
    /// it. Of the runs that ended in one minute only the last counts; the newest 10,000 points are kept.
    ///
    /// # Errors
    /// As for [`CopyLocation::past_runs`].
    pub fn reached_since(&self, since: DateTime) -> Result<Vec<ReachedPoint>, Error> {
        Ok(state(self)?.reached_since(since)?)
    }

    /// Returns up to `most` pending retries of the copy in the order of their URIs, from the first one after the URI
    /// `after`.
    ///
    /// # Errors
    /// As for [`CopyLocation::past_runs`].
    pub fn pending_retries(&self, after: &str, most: usize) -> Result<Vec<PendingRetry>, Error> {
        Ok(state(self)?.pending_retries(after, most)?)
    }
}

fn state(copy: &CopyLocation) -> Result<Box<dyn ReadState>, Error> {
    Ok(LocalCopy::state_at(copy)?.open_beside()?)
}
