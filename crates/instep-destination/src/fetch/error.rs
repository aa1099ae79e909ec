use resourcesync::{Digest, package::PackageError};

use crate::{http::HttpError, store::StoreError};

/// Why a resource was not staged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// It did not arrive.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// It arrived and is not what the Source says it is.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// It comes in a content coding that cannot be undone here, and its coded form is not what the Source lists.
    #[error("It comes in the content coding {coding:?} although it was asked for as it is")]
    Coding {
        /// The coding.
        coding: String,
    },
    /// Its package does not give it (D21).
    #[error("The package does not give it")]
    Member(#[from] PackageError),
    /// It cannot be put aside.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How a resource differs from what the Source says of it (D33).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// It has another length.
    #[error("It has {found} bytes instead of {expected}")]
    Length {
        /// Bytes, as far as they were counted.
        found: u64,
        /// Bytes that the entry states.
        expected: u64,
    },
    /// It has another digest.
    #[error("It has the digest {found} instead of {expected}")]
    Digest {
        /// Of what arrived.
        found: Box<Digest>,
        /// Of what the entry states.
        expected: Box<Digest>,
    },
}
