//! Faults that did not end a search. The errors that end one are in `error.rs`.

use std::fmt;

use resourcesync::Uri;

/// A fault that was met in a search and did not end it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trouble {
    /// The document.
    pub uri: Uri,
    /// The fault.
    pub what: String,
    /// `true` if a requested set of resources, or its capabilities, are lost because of it.
    pub costs_a_set: bool,
    /// `true` if entries of the documents that were found are lost because of it.
    pub costs_entries: bool,
    /// `true` if it was not requested, because that was not allowed.
    pub is_out_of_scope: bool,
}

impl Trouble {
    pub(crate) fn new(uri: &Uri, what: impl Into<String>) -> Self {
        let (costs_a_set, costs_entries, is_out_of_scope) = (false, false, false);
        Self { uri: uri.clone(), what: what.into(), costs_a_set, costs_entries, is_out_of_scope }
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
