//! The tally of a transfer: every action of a plan has exactly one outcome.

use crate::{Error, commit::Commit, plan::VersionKey};

/// The number of actions in the plans of one set, and of their results.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TransferTally {
    pub(crate) planned: u64,
    pub(crate) done: u64,
}

impl TransferTally {
    /// Returns the tally with further results.
    pub(crate) fn with(self, done: u64) -> Self {
        Self { done: self.done + done, ..self }
    }

    /// Fails in debug builds if an action has no result, or a result has no action: the checkpoint would pass a
    /// resource that is neither held nor pending.
    pub(crate) fn check(self) -> Result<(), Error> {
        if self.planned == self.done || !cfg!(debug_assertions) {
            return Ok(());
        }
        let what = format!("{} actions were planned, and {} came to an outcome", self.planned, self.done);
        Err(Error::Invariant { what })
    }
}

/// Returns `true` if a commit is the outcome of an action: the resource is applied, found to be current, or pending.
/// Versions that are kept beside their resource have no action in the plan.
pub(crate) fn is_outcome(commit: &Commit) -> bool {
    let uri = match commit {
        Commit::File(file) => &file.uri,
        Commit::Adopted { uri, .. }
        | Commit::Deletion { uri, .. }
        | Commit::Kept { uri, .. }
        | Commit::Current { uri, .. }
        | Commit::Noted { uri, .. } => uri,
        Commit::Owed(_, owed) => &owed.desired.uri,
        Commit::OfSlice(outcome) => return is_outcome(&outcome.commit),
        Commit::Settled(..) | Commit::Returned(..) | Commit::Checkpoint { .. } | Commit::Document(_) => {
            return false;
        }
    };
    VersionKey::parse(uri).is_none()
}
