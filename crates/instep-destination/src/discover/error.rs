//! The errors of discovery. Faults that do not end it are in `trouble.rs`.

use instep_net::Permission;
use resourcesync::Uri;

use super::Trouble;
use crate::documents::DocumentError;

/// The reason why nothing was discovered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoverError {
    /// The host does not answer, or a URL leads out of the scope.
    #[error("Cannot reach {url}")]
    Unreachable {
        /// The URL that the operator named.
        url: Uri,
        /// The cause.
        #[source]
        source: DocumentError,
    },
    /// A document on the way arrived and cannot be used, or could not be fetched.
    #[error("{uri} cannot be used")]
    Invalid {
        /// The document.
        uri: Uri,
        /// The cause.
        #[source]
        source: DocumentError,
    },
    /// The URL names a document, and its content is something else.
    #[error("{uri} is not a ResourceSync document: {what}")]
    NoDocument {
        /// The URL that the operator named.
        uri: Uri,
        /// A description of the content.
        what: String,
    },
    /// No place that was tried has a document of ResourceSync.
    #[error("No ResourceSync document was found from {url}. Tried:{}", lines(looked_at))]
    Nothing {
        /// The URL that the operator named.
        url: Uri,
        /// The places that were tried, and their results.
        looked_at: Vec<Trouble>,
    },
    /// The operator named a set, and no Capability List of the Source has that name.
    #[error("The Source has no set {wanted}; it has {}", uris(sets))]
    NoSuchSet {
        /// The name of the set.
        wanted: String,
        /// The Capability Lists of the Source.
        sets: Vec<Uri>,
    },
    /// There are more sets than one search reads (B9).
    #[error("{uri} leads to {sets} sets of resources; choose at most {most} of them")]
    TooManySets {
        /// The document.
        uri: Uri,
        /// The number of sets that are wanted.
        sets: usize,
        /// The most that are read.
        most: usize,
    },
    /// The Capability Lists have more capabilities and links than are kept in memory (B9).
    #[error("{uri} exceeds a limit: its Capability Lists have more than {most} capabilities and links")]
    TooMuch {
        /// The Capability List.
        uri: Uri,
        /// The most that are kept.
        most: usize,
    },
    /// The caller needs one set, and the Source has several.
    #[error("The Source has several sets of resources, and one must be chosen: {}", uris(sets))]
    SeveralSets {
        /// The Capability Lists of the sets.
        sets: Vec<Uri>,
    },
}

impl DiscoverError {
    /// Returns the permission that a request lacked; `None` if no permission would help.
    pub fn lacks(&self) -> Option<Permission> {
        match self {
            Self::Unreachable { source, .. } | Self::Invalid { source, .. } => source.lacks(),
            Self::Nothing { looked_at, .. } => looked_at.iter().filter_map(|trouble| trouble.lacks).min(),
            _ => None,
        }
    }

    /// Returns `true` if nothing further may be requested: the run should end, or the Source exceeds a limit.
    pub(super) fn ends_search(&self) -> bool {
        match self {
            Self::NoSuchSet { .. } | Self::TooManySets { .. } | Self::TooMuch { .. } => true,
            Self::Unreachable { source, .. } | Self::Invalid { source, .. } => source.ends_search(),
            Self::NoDocument { .. } | Self::Nothing { .. } | Self::SeveralSets { .. } => false,
        }
    }
}

/// Returns each place that was tried and its result, one per line.
fn lines(troubles: &[Trouble]) -> String {
    troubles.iter().map(|trouble| format!("\n    {trouble}")).collect()
}

fn uris(sets: &[Uri]) -> String {
    sets.iter().map(Uri::as_str).collect::<Vec<_>>().join(", ")
}
