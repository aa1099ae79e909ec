//! The errors of fetching and opening a package.

use instep_net::HttpError;
use resourcesync::package::PackageError;

use crate::{documents::DocumentError, store::StoreError, transfer::fetch::FetchError};

/// The reason why a package is not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PackageFetchError {
    /// It does not arrive, or differs from its entry.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// It is not safe to read, and is refused as a whole (D2, D19, D20).
    #[error("The package {uri} is not used")]
    Unsafe {
        /// The package.
        uri: String,
        /// The fault.
        #[source]
        source: PackageError,
    },
    /// The manifest in it cannot be read, so that nothing is known of its members.
    #[error(transparent)]
    Manifest(#[from] DocumentError),
    /// The Source does not have some of the resources of a batch request (422).
    #[error("The Source does not have {} of the requested resources", uris.len())]
    Unknown {
        /// Their URIs.
        uris: Vec<String>,
    },
    /// A batch request exceeds a limit of the Source (413).
    #[error("The request exceeds a limit of the Source")]
    TooMuch,
    /// The run ended before the package had arrived.
    #[error("The run ended before the package was there")]
    Interrupted,
}

impl From<HttpError> for PackageFetchError {
    fn from(error: HttpError) -> Self {
        Self::Fetch(error.into())
    }
}

impl From<StoreError> for PackageFetchError {
    fn from(error: StoreError) -> Self {
        Self::Fetch(error.into())
    }
}
