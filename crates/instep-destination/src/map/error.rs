//! URIs that cannot be mapped.

use resourcesync::Uri;

/// A URI that has no path in a copy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum MapError {
    /// Only http and https resources are copied (D26).
    #[error("{uri} is neither http nor https")]
    Scheme {
        /// The URI.
        uri: Uri,
    },
    /// The authority has no host, or a port that is no port.
    #[error("{uri} names no host")]
    Host {
        /// The URI.
        uri: Uri,
    },
}
