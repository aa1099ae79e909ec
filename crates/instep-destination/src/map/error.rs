//! URIs that cannot be mapped.

use resourcesync::Uri;

/// A URI that has no path in a copy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum MapError {
    /// The scheme is neither http nor https. No resource of another scheme is copied (D26).
    #[error("{uri} is neither http nor https")]
    Scheme {
        /// The URI.
        uri: Uri,
    },
    /// The authority has no host, or its port is not a valid number.
    #[error("{uri} names no host")]
    Host {
        /// The URI.
        uri: Uri,
    },
}
