//! Options that select resources of a Source: sets, paths, times and metadata.

use resourcesync::DateTime;

/// The part of the Source's resources that is wanted. Without any option that is everything.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SelectionOptions {
    /// The sets of resources, by the URI or the last part of the URI of their Capability List; empty means all.
    pub sets: Vec<String>,
    /// Patterns of rsync for the path below the base (`*.pdf`, `letters/**`), or with `://` globs or prefixes of URIs;
    /// one of them must match.
    pub include: Vec<String>,
    /// Patterns of the same kinds; none of them may match.
    pub exclude: Vec<String>,
    /// Exact paths below the base; a path that ends with a slash selects everything below it. `None` means all.
    pub paths: Option<Vec<String>>,
    /// Media types, `text/*` among them; one of them must match.
    pub types: Vec<String>,
    /// The largest resource, in bytes.
    pub max_size: Option<u64>,
    /// Only resources modified or changed at this time or later.
    pub since: Option<DateTime>,
    /// At most this many resources.
    pub limit: Option<u64>,
    /// Relations whose targets are fetched too.
    pub with_links: Vec<String>,
    /// Only resources that have a link of one of these relations.
    pub only_links: Vec<String>,
    /// Only members of one of these collections.
    pub collections: Vec<String>,
    /// Only resources of one of these profiles.
    pub profiles: Vec<String>,
    /// Media types of alternate representations that are wanted instead of the listed one, the preferred first.
    pub prefer_types: Vec<String>,
    /// Only resources whose `describedby` record matches: one or more tests, joined by ` and `, like
    /// `/year >= 2020 and creator ~ 'Noether'`.
    ///
    /// A test is a path, or a path, a comparison and a value. A path in a JSON record is a JSON Pointer (RFC 6901); in
    /// an XML record it is a path of element names without prefixes, from the root if it begins with `/`, else from
    /// anywhere. `*` is any element, `@name` an attribute at the end. Comparisons are `=`, `!=`, `~` (contains), `<`,
    /// `<=`, `>` and `>=`: as numbers if both sides are numbers, else as texts.
    pub where_metadata: Option<String>,
}

impl SelectionOptions {
    /// Returns `true` if some resources may be left out. The absence of an unselected resource is then no evidence that
    /// it is gone.
    pub fn is_partial(&self) -> bool {
        let Self { sets, with_links, prefer_types, .. } = Self::default();
        Self { sets, with_links, prefer_types, ..self.clone() } != Self::default()
    }
}
