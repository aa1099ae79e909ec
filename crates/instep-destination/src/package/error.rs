//! Errors of packages that cannot be fetched or used.

use resourcesync::package::PackageError as ZipError;

use crate::{documents::DocumentError, fetch::FetchError, http::HttpError, store::StoreError};

/// Why a package is not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// It does not arrive, or is not what its entry says.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// It is not safe to read; it is refused whole (D2, D19, D20).
    #[error("The package {uri} is not used")]
    Unsafe {
        /// The package.
        uri: String,
        /// The fault.
        #[source]
        source: ZipError,
    },
    /// Its manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] DocumentError),
    /// The Source does not have some of the resources that a batch asks for (422).
    #[error("{} of the resources asked for are unknown to the Source", uris.len())]
    Unknown {
        /// Which.
        uris: Vec<String>,
    },
    /// A batch asks for more than the Source gives at once (413).
    #[error("The Source does not give so much at once")]
    TooMuch,
    /// The work ended before it was opened.
    #[error("The run ended before the package was opened")]
    Interrupted,
}

impl From<HttpError> for PackageError {
    fn from(error: HttpError) -> Self {
        Self::Fetch(error.into())
    }
}

impl From<StoreError> for PackageError {
    fn from(error: StoreError) -> Self {
        Self::Fetch(error.into())
    }
}
