//! Reasons why nothing was discovered.

use resourcesync::Uri;

use super::Trouble;
use crate::documents::DocumentError;

/// The reason why nothing was discovered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoverError {
    /// The host does not answer, or leads where it must not.
    #[error("Cannot reach {url}")]
    Unreachable {
        /// The URL that the operator named.
        url: Uri,
        /// The cause.
        #[source]
        source: DocumentError,
    },
    /// A document cannot be used.
    #[error("{uri} cannot be used")]
    Invalid {
        /// The document.
        uri: Uri,
        /// The cause.
        #[source]
        source: DocumentError,
    },
    /// No place that was tried has a document of ResourceSync.
    #[error("Nothing at {url} leads to a ResourceSync document; looked at {}", list(looked_at))]
    Nothing {
        /// The URL that the operator named.
        url: Uri,
        /// The places that were tried, and what was there.
        looked_at: Vec<Trouble>,
    },
    /// The Source has no such set.
    #[error("The Source has no set {wanted}; it has {}", uris(sets))]
    NoSuchSet {
        /// The name of the set.
        wanted: String,
        /// The Capability Lists of the Source.
        sets: Vec<Uri>,
    },
    /// One set is needed, and there are several.
    #[error("The Source has several sets of resources, and one must be chosen: {}", uris(sets))]
    SeveralSets {
        /// The Capability Lists of the sets.
        sets: Vec<Uri>,
    },
}

fn list(troubles: &[Trouble]) -> String {
    troubles.iter().map(Trouble::to_string).collect::<Vec<_>>().join("; ")
}

fn uris(sets: &[Uri]) -> String {
    sets.iter().map(Uri::as_str).collect::<Vec<_>>().join(", ")
}
