//! The errors of fetching a resource.

use instep_net::HttpError;
use resourcesync::{Digest, package::PackageError};

use crate::store::StoreError;

/// The reason why a resource was not staged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum FetchError {
    /// The request failed, or the answer did not arrive.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// It arrived, and its length, digest or time differs from its entry: it is discarded and retried.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// It arrived in an unsupported content coding, and its coded form differs from the listed state.
    #[error("It arrived in the content coding {coding:?}, although none was accepted")]
    Coding {
        /// The coding.
        coding: String,
    },
    /// A proxy on the way may have changed it (203), and no digest shows that it did not.
    #[error(
        "It answers 203: a proxy on the way may have changed it, and the Source lists no digest that shows if it did"
    )]
    Transformed,
    /// The package does not contain the resource as listed (D21). It is then requested by its own URI.
    #[error("The package does not contain it as listed")]
    Member(#[from] PackageError),
    /// The file that it arrives in cannot be written: the disk of the copy is at fault, and the run ends.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A difference between a resource and the metadata that the Source states for it (D33).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Mismatch {
    /// More or fewer bytes arrived than the entry states.
    #[error("It has {found} bytes instead of {expected}")]
    Length {
        /// The bytes that were counted.
        found: u64,
        /// The bytes that the entry states.
        expected: u64,
    },
    /// The bytes that arrived do not have the digest that the entry states.
    #[error("It has the digest {found} instead of {expected}")]
    Digest {
        /// The digest of the received bytes.
        found: Box<Digest>,
        /// The digest that the entry states.
        expected: Box<Digest>,
    },
    /// A TimeGate answered with a state from after the requested time (O151).
    #[error("The state that it answers is of {found}, later than the time that was requested")]
    Moment {
        /// The `Memento-Datetime` of the answer.
        found: String,
    },
}
