//! The documents that a copy followed in earlier runs. They are recorded by `run/copy/remembered.rs`.

use resourcesync::Uri;

use super::{Discovered, Way};

/// The documents of a URL as earlier runs found them.
#[derive(Clone, Debug, Default)]
pub(crate) struct FormerDocuments {
    /// The way on which the URL led to them; `None` before the first run.
    pub(crate) way: Option<Way>,
    /// The names of the sets that were found.
    pub(crate) sets: Vec<String>,
}

impl FormerDocuments {
    /// Returns `true` if documents lead to a set that was known, or none was known.
    pub(super) fn may_lead_to(&self, found: &Discovered) -> bool {
        let is_known = |name: &String| found.sets.iter().any(|set| set.is_known_as(name));
        self.sets.is_empty() || self.sets.iter().any(is_known)
    }

    /// Returns `true` if a set was known by this URI.
    pub(super) fn has_set(&self, uri: &Uri) -> bool {
        self.sets.iter().any(|name| name == uri.as_str())
    }
}
