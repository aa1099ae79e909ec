//! The errors of fetching and opening a package.

use instep_net::HttpError;
use resourcesync::package::PackageError;

use crate::{Error, documents::DocumentError, store::StoreError, transfer::fetch::FetchError};

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

impl PackageFetchError {
    /// Returns the error, unless the disk of the copy is at fault and not the package (O456, O802).
    ///
    /// # Errors
    /// If the disk is at fault, which ends the run.
    pub(crate) fn unless_fault_of_disk(self) -> Result<Self, Error> {
        match self {
            Self::Fetch(FetchError::Store(error)) => Err(error.into()),
            Self::Manifest(error) if error.is_fault_of_disk() => Err(error.into()),
            error => Ok(error),
        }
    }
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

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// `ENOSPC`.
    const NO_SPACE: i32 = 28;

    #[test]
    fn o934_a_manifest_that_the_disk_cannot_take_ends_the_run_also_for_a_batch() {
        let fault =
            |source| PackageFetchError::from(DocumentError::unread("http://example.com/batch", source));
        let full = fault(io::Error::from_raw_os_error(NO_SPACE));
        assert!(matches!(full.unless_fault_of_disk(), Err(Error::Storage { .. })));
        let damaged = fault(io::Error::new(io::ErrorKind::InvalidData, "the checksum is wrong"));
        assert!(matches!(damaged.unless_fault_of_disk(), Ok(PackageFetchError::Manifest(_))));
    }
}
