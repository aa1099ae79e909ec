//! The failures of a commit.

use crate::{state::StateError, store::StoreError};

/// A failed commit; the next [`Committer::open`](super::Committer::open) resolves the steps that were done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The state failed.
    #[error(transparent)]
    State(#[from] StateError),
}
