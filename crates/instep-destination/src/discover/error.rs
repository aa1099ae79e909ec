use resourcesync::Uri;

use super::Trouble;
use crate::documents::DocumentError;

/// Why nothing was discovered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoverError {
    /// The host does not answer, or not within the rules.
    #[error("Cannot reach {url}")]
    Unreachable {
        /// What the operator named.
        url: Uri,
        /// Why.
        #[source]
        source: DocumentError,
    },
    /// A document is there and cannot be used.
    #[error("{uri} cannot be used")]
    Invalid {
        /// Where.
        uri: Uri,
        /// Why.
        #[source]
        source: DocumentError,
    },
    /// Nothing that was looked at is a document of ResourceSync.
    #[error("Nothing at {url} leads to a ResourceSync document; looked at {}", list(looked_at))]
    Nothing {
        /// What the operator named.
        url: Uri,
        /// Where was looked, and what was there.
        looked_at: Vec<Trouble>,
    },
    /// The set asked for is not there.
    #[error("The Source has no set {wanted}; it has {}", uris(sets))]
    NoSuchSet {
        /// What was asked for.
        wanted: String,
        /// The Capability Lists that it has.
        sets: Vec<Uri>,
    },
    /// One set is needed, and there are several.
    #[error("The Source has several sets of resources, and one must be chosen: {}", uris(sets))]
    SeveralSets {
        /// Their Capability Lists.
        sets: Vec<Uri>,
    },
}

fn list(troubles: &[Trouble]) -> String {
    troubles.iter().map(Trouble::to_string).collect::<Vec<_>>().join("; ")
}

fn uris(sets: &[Uri]) -> String {
    sets.iter().map(Uri::as_str).collect::<Vec<_>>().join(", ")
}
