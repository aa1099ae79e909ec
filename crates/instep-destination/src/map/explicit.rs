//! Paths that the operator gives by hand: URI=PATH.

use resourcesync::{Uri, UriError};

use super::{CopyPath, name, parts};

/// `URI=PATH`: resources at or below the URI are stored at or below the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExplicitMap {
    prefix: String,
    path: String,
}

/// The reason why a pair of texts is no map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ExplicitMapError {
    /// The path is absolute, leads out of the copy, or into `.instep`.
    #[error("{path:?} is not a path within the copy")]
    Path {
        /// The path.
        path: String,
    },
    /// The URI has no host, so no resource can be below it (C32).
    #[error("{uri:?} cannot be mapped: {source}")]
    Uri {
        /// The URI.
        uri: String,
        /// The fault.
        source: UriError,
    },
}

impl ExplicitMap {
    /// Returns the map of a URI to a path within the copy.
    ///
    /// # Errors
    /// If the path is not within the copy, or the URI has no host.
    pub(crate) fn new(prefix: &str, path: &str) -> Result<Self, ExplicitMapError> {
        if let Err(source @ UriError::NoHost) = Uri::parse(prefix) {
            return Err(ExplicitMapError::Uri { uri: prefix.to_owned(), source });
        }
        let names: Vec<_> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        let path_error = || ExplicitMapError::Path { path: path.to_owned() };
        let relative = names.join("/");
        if path.starts_with('/') || (!names.is_empty() && CopyPath::from_state(&relative).is_none()) {
            return Err(path_error());
        }
        Ok(Self { prefix: prefix.to_owned(), path: relative })
    }

    /// Returns the path of a URI if the map covers it: the URI of the map, or one that continues it with a slash or a
    /// query.
    pub(super) fn apply(&self, uri: &parts::UriParts<'_>) -> Option<CopyPath> {
        let rest = uri.written.strip_prefix(&self.prefix)?;
        if !self.prefix.ends_with('/') && !rest.is_empty() && !rest.starts_with(['/', '?']) {
            return None;
        }
        let (path, query) = parts::split_query(rest);
        let is_the_uri_itself = path.is_empty() && !self.prefix.ends_with('/') && !self.path.is_empty();
        if is_the_uri_itself {
            return Some(CopyPath::of_names(&format!("{}{}", self.path, name::marked_query(query))));
        }
        let below = name::path_of(&parts::segments(path).collect::<Vec<_>>(), query);
        let top = if self.path.is_empty() { below } else { format!("{}/{below}", self.path) };
        Some(CopyPath::of_names(&top))
    }
}
