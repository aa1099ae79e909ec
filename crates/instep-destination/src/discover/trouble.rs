//! Faults on the way that did not end the search.

use std::fmt;

use resourcesync::Uri;

/// A fault that did not end the search.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trouble {
    /// The document.
    pub uri: Uri,
    /// The fault.
    pub what: String,
    /// `true` if a requested set of resources, or its capabilities, are lost because of it.
    pub costs_a_set: bool,
    /// `true` if it costs entries of what was found.
    pub costs_entries: bool,
}

impl Trouble {
    pub(crate) fn new(uri: &Uri, what: impl Into<String>) -> Self {
        Self { uri: uri.clone(), what: what.into(), costs_a_set: false, costs_entries: false }
    }

    pub(crate) fn lost_set(uri: &Uri, what: impl Into<String>) -> Self {
        Self { costs_a_set: true, ..Self::new(uri, what) }
    }

    pub(crate) fn lost_entries(uri: &Uri, what: impl Into<String>) -> Self {
        Self { costs_entries: true, ..Self::new(uri, what) }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what.starts_with(self.uri.as_str()) {
            true => f.write_str(&self.what),
            false => write!(f, "{}: {}", self.uri, self.what),
        }
    }
}
