//! Errors of packages that cannot be fetched or used.

use instep_net::HttpError;
use resourcesync::package::PackageError;

use crate::{documents::DocumentError, store::StoreError, transfer::fetch::FetchError};

/// The reason why a package is not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PackageFetchError {
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
        source: PackageError,
    },
    /// Its manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] DocumentError),
    /// The Source does not have some of the resources that a batch asks for (422).
    #[error("{} of the resources asked for are unknown to the Source", uris.len())]
    Unknown {
        /// The URIs of those.
        uris: Vec<String>,
    },
    /// A batch asks for more than the Source gives at once (413).
    #[error("The Source does not give so much at once")]
    TooMuch,
    /// The run ended before it was there.
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
