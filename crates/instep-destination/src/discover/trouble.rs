//! Faults that did not end a search. The errors that end one are in `error.rs`.

use std::fmt;

use instep_net::Permission;
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
    /// The permission that its request lacked; `None` if no permission would help.
    pub lacks: Option<Permission>,
}

impl Trouble {
    pub(crate) fn new(uri: &Uri, what: impl Into<String>) -> Self {
        Self {
            uri: uri.clone(),
            what: what.into(),
            costs_a_set: false,
            costs_entries: false,
            is_out_of_scope: false,
            lacks: None,
        }
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
        if self.what.starts_with(self.uri.as_str()) {
            f.write_str(&self.what)
        } else {
            write!(f, "{}: {}", self.uri, self.what)
        }
    }
}
