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
    /// The size of the largest resources that are wanted, in bytes; `None` for no limit.
    pub max_size: Option<u64>,
    /// The time at or after which a wanted resource was modified or changed; `None` means all.
    pub since: Option<DateTime>,
    /// The most resources that are wanted; `None` for no limit.
    pub limit: Option<u64>,
    /// Relations of links whose targets are fetched too, such as `describedby`.
    pub with_links: Vec<String>,
    /// Relations of links; a wanted resource has a link with one of them. Empty means all.
    pub only_links: Vec<String>,
    /// URIs of collections; a wanted resource is a member of one of them. Empty means all.
    pub collections: Vec<String>,
    /// URIs of profiles; a wanted resource conforms to one of them. Empty means all.
    pub profiles: Vec<String>,
    /// Media types of alternate representations that are wanted instead of the listed one, the preferred first.
    pub prefer_types: Vec<String>,
    /// The condition that the `describedby` record of a wanted resource meets: one or more tests, joined by ` and `,
    /// like `/year >= 2020 and creator ~ 'Noether'`.
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
