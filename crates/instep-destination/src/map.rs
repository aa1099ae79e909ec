//! URI to safe path: the only place where text from the network becomes a path.
//!
//! A [`Mapper`] keeps these invariants:
//! - two URIs get the same path only if they differ just in spelling (`%7E` and `~`, `HTTP:` and `http:`) or
//!   fragment;
//! - a path depends only on its URI and the operator's base and maps, so the order of arrival never matters;
//! - each segment is a name that every common file system accepts, and none leads out of the copy or into `.instep`,
//!   except for versions into `.instep/versions`.
//!
//! Names stay readable: octets are decoded if possible, and escaped as `%XX` otherwise. `%40` is never the escape of
//! an `@`, so it marks parts that the mapping adds: `%40index` for `/a/`, `%40body` for an `/a` beside `/a/...`,
//! `%40` before a query, `%40%40` before a digest.

mod error;
mod explicit;
mod fold;
mod name;
mod parts;
mod path;

use std::borrow::Cow;

use resourcesync::Uri;

pub(crate) use error::MapError;
pub(crate) use explicit::ExplicitMap;
pub(crate) use parts::without_fragment;
pub use path::CopyPath;

pub(crate) use fold::fold as folded;

use parts::{Authority, UriParts};

/// The URI whose resources lie at the top of the copy: the operator's URL if it ends in a slash, otherwise the root
/// of its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MapBase {
    authority: Authority,
    segments: Vec<Vec<u8>>,
    /// The beginning of most URIs below it: as the operator wrote it, up to its last slash.
    written: String,
}

impl MapBase {
    /// Returns the base of an operator's URL.
    ///
    /// # Errors
    /// If the URL is not http(s) or has no host.
    pub(crate) fn of(url: &Uri) -> Result<Self, MapError> {
        let parts = UriParts::of(url)?;
        let mut segments: Vec<_> = parts.segments().map(|segment| segment.into_owned()).collect();
        let is_folder = segments.pop().is_none_or(|last| last.is_empty());
        if !is_folder {
            segments.clear();
        }
        let before_path =
            parts.written.len() - parts.path.len() - parts.query.map_or(0, |query| query.len() + 1);
        let mut written = parts.written[..before_path].to_owned();
        written.push_str(if is_folder && !parts.path.is_empty() { parts.path } else { "/" });
        Ok(Self { authority: parts.authority, segments, written })
    }

    /// Returns the path of a URI that begins with the text of the base, if only plain names follow: they are the path.
    /// `None` means that the URI must be parsed.
    fn plain_path<'u>(&self, uri: &'u Uri) -> Option<&'u str> {
        let rest = uri.as_str().strip_prefix(&self.written)?;
        rest.split('/').all(name::is_plain).then_some(rest)
    }

    /// Returns the segments after those of the base; `None` if the URI is not below it.
    fn below<'s, 'u>(
        &self,
        authority: &Authority,
        segments: &'s [Cow<'u, [u8]>],
    ) -> Option<&'s [Cow<'u, [u8]>]> {
        let (head, rest) = segments.split_at_checked(self.segments.len())?;
        let same = *authority == self.authority && head.iter().zip(&self.segments).all(|(a, b)| **a == **b);
        (same && !rest.is_empty()).then_some(rest)
    }
}

/// Gives every URI its path in the copy.
#[derive(Clone, Debug)]
pub(crate) struct Mapper {
    base: MapBase,
    explicit: Vec<ExplicitMap>,
}

impl Mapper {
    /// Returns a mapper that tries the explicit maps in their order, and then the base.
    pub(crate) fn new(base: MapBase, explicit: Vec<ExplicitMap>) -> Self {
        Self { base, explicit }
    }

    /// Returns the path of a resource, which does not depend on its fragment (D6).
    ///
    /// # Errors
    /// If the URI is not http(s) or has no host.
    pub(crate) fn map(&self, uri: &Uri) -> Result<CopyPath, MapError> {
        if self.explicit.is_empty()
            && let Some(path) = self.base.plain_path(uri)
        {
            return Ok(CopyPath::of_names(path));
        }
        let parts = UriParts::of(uri)?;
        if let Some(path) = self.explicit.iter().find_map(|map| map.apply(&parts)) {
            return Ok(path);
        }
        let segments: Vec<_> = parts.segments().collect();
        let Some(below) = self.base.below(&parts.authority, &segments) else {
            let path = name::path_of(&segments, parts.query);
            return Ok(CopyPath::of_names(&format!("{}/{path}", parts.authority.name())));
        };
        let path = name::path_of(below, parts.query);
        Ok(match path.strip_prefix('@') {
            Some(rest) => CopyPath::of_names(&format!("{}{rest}", name::FIRST_AT)),
            None => CopyPath::of_names(&path),
        })
    }
}

/// The folder of versions, beside the copy.
const VERSIONS: &str = ".instep/versions";

impl Mapper {
    /// Returns the path of a version: below `.instep/versions/`, in a folder with the path of its resource, by its
    /// time.
    ///
    /// # Errors
    /// As [`Self::map`].
    pub(crate) fn map_version(&self, resource: &Uri, moment: &str) -> Result<CopyPath, MapError> {
        let path = self.map(resource)?;
        let moment: String = moment.chars().filter(char::is_ascii_alphanumeric).collect();
        Ok(CopyPath::of_names(&format!("{VERSIONS}/{path}/%40{moment}")))
    }
}

impl CopyPath {
    /// Returns the path of the resource, if this is the path of one of its versions; `None` otherwise.
    pub(crate) fn resource_of_version(&self) -> Option<Self> {
        Self::from_state(self.folder().strip_prefix(VERSIONS)?.strip_prefix('/')?)
    }
}

/// Returns `true` if a URI climbs with `..`, encoded or not: it names another resource than it seems to, and no Source
/// needs it (D1).
pub(crate) fn climbs(uri: &Uri) -> bool {
    let begins_with_dot = |pair: &[u8]| matches!(pair, [b'/', b'.' | b'%']);
    if !uri.as_str().as_bytes().windows(2).any(begins_with_dot) {
        return false;
    }
    let path = uri.as_str().split(['?', '#']).next().unwrap_or_default();
    path.split('/').skip(3).any(|segment| segment.to_ascii_lowercase().replace("%2e", ".") == "..")
}

#[cfg(test)]
mod tests;
