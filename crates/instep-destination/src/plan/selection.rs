//! The selection of resources by the operator.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use instep_store::PathFilter;
use percent_encoding::percent_decode_str;
use resourcesync::{DateTime, Entry, MediaType, Relation};

use crate::{Error, SelectionOptions};

/// The operator's selection, compiled for testing entries.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    base: String,
    /// The list of paths, and the patterns of paths to exclude.
    paths: PathFilter,
    /// The patterns of paths to include.
    include_paths: PathFilter,
    include: Uris,
    exclude: Uris,
    types: Vec<String>,
    max_size: Option<u64>,
    since: Option<DateTime>,
    only_links: Vec<Relation>,
    collections: Vec<String>,
    profiles: Vec<String>,
    /// The number of entries that were tested, and the number of those that were selected. Clones share them.
    asked: Arc<[AtomicU64; 2]>,
}

/// Patterns and prefixes of complete URIs.
#[derive(Clone, Debug)]
struct Uris {
    globs: GlobSet,
    prefixes: BTreeSet<String>,
}

impl Uris {
    fn new(patterns: &[&String]) -> Result<Self, Error> {
        let mut globs = GlobSetBuilder::new();
        let mut prefixes = BTreeSet::new();
        for pattern in patterns {
            if pattern.contains(['*', '?', '[', '{']) {
                let glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(|error| {
                    Error::Usage { what: format!("{pattern:?} is not a pattern: {}", error.kind()) }
                })?;
                globs.add(glob);
            } else {
                prefixes.insert((*pattern).clone());
            }
        }
        let globs = globs.build().map_err(|error| Error::Usage { what: error.to_string() })?;
        Ok(Self { globs, prefixes })
    }

    fn is_empty(&self) -> bool {
        self.globs.is_empty() && self.prefixes.is_empty()
    }

    fn matches(&self, uri: &str) -> bool {
        self.globs.is_match(uri) || self.prefixes.iter().any(|prefix| uri.starts_with(prefix.as_str()))
    }
}

impl SelectionOptions {
    /// Checks the patterns, so that a wrong one is reported before a run begins.
    ///
    /// # Errors
    /// [`Error::Usage`] if one of them is no pattern.
    pub fn check(&self) -> Result<(), Error> {
        Selection::new(self, "").map(drop)
    }
}

/// The most listed paths without a resource that a message shows.
const UNMATCHED_SHOWN: usize = 10;

impl Selection {
    /// Reads the operator's patterns. They match the path below `url` if that ends with a slash, otherwise the path
    /// below its host; a pattern with `://` matches complete URIs.
    ///
    /// # Errors
    /// [`Error::Usage`] if one is not a pattern.
    pub(crate) fn new(options: &SelectionOptions, url: &str) -> Result<Self, Error> {
        let is_uri = |pattern: &&String| pattern.contains("://");
        let uris = |patterns: &[String]| Uris::new(&patterns.iter().filter(is_uri).collect::<Vec<_>>());
        let paths = |patterns: &[String]| -> Vec<String> {
            patterns.iter().filter(|pattern| !is_uri(pattern)).cloned().collect()
        };
        let filter = |include: &[String], exclude: &[String]| {
            PathFilter::new(include, exclude).map_err(|error| Error::Usage { what: error.to_string() })
        };
        let include_paths = filter(&paths(&options.include), &[])?;
        let mut filter = filter(&[], &paths(&options.exclude))?;
        if let Some(listed) = &options.paths {
            filter = filter.with_list(listed.iter().cloned());
        }
        Ok(Self {
            base: base(url).to_owned(),
            paths: filter,
            include_paths,
            include: uris(&options.include)?,
            exclude: uris(&options.exclude)?,
            types: options.types.iter().map(|text| text.to_ascii_lowercase()).collect(),
            max_size: options.max_size,
            since: options.since,
            only_links: options.only_links.iter().map(|rel| Relation::parse(rel)).collect(),
            collections: options.collections.clone(),
            profiles: options.profiles.clone(),
            asked: Arc::default(),
        })
    }

    /// Returns `true` if a URI is selected, as far as the URI alone shows.
    pub(crate) fn wants_uri(&self, uri: &str) -> bool {
        if self.exclude.matches(uri) {
            return false;
        }
        let by_any_path = self.include_paths.selects_everything();
        let path =
            if by_any_path && self.paths.selects_everything() { Vec::new() } else { self.path_of(uri) };
        // If there are patterns of paths and of URIs, one of either kind is enough.
        let is_included = match self.include.is_empty() {
            true => self.include_paths.selects(&path),
            false => self.include.matches(uri) || !by_any_path && self.include_paths.selects(&path),
        };
        // Asked in any case, because it notes which paths of the list there are.
        self.paths.selects(&path) && is_included
    }

    /// Returns the number of entries that were tested, and the number of those that were selected (P8).
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.asked[0].load(Relaxed), self.asked[1].load(Relaxed))
    }

    /// Returns the number of listed paths that no URI had so far, and some of them.
    pub(crate) fn unmatched(&self) -> (usize, Vec<String>) {
        let some = self.paths.without_match().take(UNMATCHED_SHOWN);
        let some = some.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        (self.paths.without_match().count(), some)
    }

    /// Returns the decoded path of a URI below the base, or below its host if it is not below the base.
    fn path_of(&self, uri: &str) -> Vec<u8> {
        let uri = uri.split('#').next().unwrap_or_default();
        let path = uri.strip_prefix(&self.base).unwrap_or_else(|| {
            let after_scheme = uri.split_once("://").map_or(uri, |(_, rest)| rest);
            after_scheme.split_once('/').map_or("", |(_, path)| path)
        });
        percent_decode_str(path).collect()
    }

    /// Returns `true` if a resource is selected. A value that an entry does not state excludes it only if that value
    /// was required.
    pub(crate) fn wants(&self, entry: &Entry) -> bool {
        let wanted = self.selects(entry);
        self.asked[0].fetch_add(1, Relaxed);
        self.asked[1].fetch_add(u64::from(wanted), Relaxed);
        wanted
    }

    fn selects(&self, entry: &Entry) -> bool {
        let linked = |rel: &Relation, targets: &[String]| {
            targets.is_empty()
                || entry.links_for(rel).any(|link| targets.iter().any(|t| t == link.href.as_str()))
        };
        self.wants_uri(entry.loc.as_str())
            && self.wants_type(entry.metadata.media_type.as_ref())
            && self.max_size.is_none_or(|most| entry.metadata.length.is_none_or(|length| length <= most))
            && self.is_recent(entry)
            && (self.only_links.is_empty() || self.only_links.iter().any(|rel| entry.link_for(rel).is_some()))
            && linked(&Relation::Collection, &self.collections)
            && linked(&Relation::Profile, &self.profiles)
    }

    fn is_recent(&self, entry: &Entry) -> bool {
        let time = entry.metadata.datetime.or(entry.lastmod);
        self.since.is_none_or(|since| time.is_none_or(|time| time.end() > since.instant()))
    }

    fn wants_type(&self, media_type: Option<&MediaType>) -> bool {
        if self.types.is_empty() {
            return true;
        }
        // The operator names the types to exclude all others, so a resource without a type is excluded too.
        let Some(essence) = media_type.map(|media_type| media_type.essence().to_ascii_lowercase()) else {
            return false;
        };
        self.types.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(family) => essence.starts_with(family),
            None => essence == *wanted,
        })
    }
}

/// Returns the URL below which paths are matched: that of the operator's folder or site, otherwise of its host.
fn base(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |scheme| scheme + 3);
    let root = url[authority..].find('/').map_or(url.len(), |slash| authority + slash + 1);
    if url.ends_with('/') { url } else { &url[..root] }
}

#[cfg(test)]
mod tests {
    use resourcesync::{Link, Uri};

    use super::*;

    fn entry(uri: &str) -> Entry {
        Entry::new(Uri::parse(uri).unwrap())
    }

    fn selects(change: impl FnOnce(&mut SelectionOptions), entry: &Entry) -> bool {
        let mut options = SelectionOptions::default();
        change(&mut options);
        Selection::new(&options, "http://example.com/").unwrap().wants(entry)
    }

    #[test]
    fn p8_paths_below_the_base_are_selected_by_pattern_and_uris_by_glob_or_prefix() {
        let table = [
            ("*.pdf", "http://example.com/a/b.pdf", true),
            ("*.pdf", "http://example.com/a/b.txt", false),
            ("letters/**", "http://example.com/letters/1701.txt", true),
            ("/letters/**", "http://example.com/a/letters/1701.txt", false),
            ("a b.txt", "http://example.com/x/a%20b.txt", true),
            ("*.pdf", "http://elsewhere.example/a/b.pdf", true),
            ("http://example.com/a/", "http://example.com/a/b", true),
            ("http://example.com/a/", "http://example.com/b", false),
            ("http://example.com/*", "http://example.com/a", true),
            ("http://example.com/*", "http://example.com/a/b", false),
            ("http://example.com/**", "http://example.com/a/b", true),
        ];
        for (pattern, uri, expected) in table {
            assert_eq!(
                selects(|options| options.include.push(pattern.to_owned()), &entry(uri)),
                expected,
                "{pattern} {uri}"
            );
            assert_eq!(
                selects(|options| options.exclude.push(pattern.to_owned()), &entry(uri)),
                !expected,
                "not {pattern} {uri}"
            );
        }
    }

    #[test]
    fn o522_of_patterns_of_paths_and_of_uris_one_is_enough() {
        let both = |options: &mut SelectionOptions| {
            options.include = vec!["*.pdf".to_owned(), "http://example.com/letters/".to_owned()];
        };
        for (uri, expected) in [
            ("http://example.com/a.pdf", true),
            ("http://example.com/letters/a.txt", true),
            ("http://example.com/a.txt", false),
        ] {
            assert_eq!(selects(both, &entry(uri)), expected, "{uri}");
        }
    }

    #[test]
    fn p8_paths_begin_below_the_url_that_was_named() {
        let mut options = SelectionOptions::default();
        options.include.push("/letters/**".to_owned());
        for (url, selected) in [
            ("http://example.com/data/", true),
            ("http://example.com/", false),
            ("http://example.com/data/list.xml", false),
        ] {
            let selection = Selection::new(&options, url).unwrap();
            assert_eq!(selection.wants(&entry("http://example.com/data/letters/1")), selected, "{url}");
            assert_eq!(selection.counts(), (1, u64::from(selected)));
        }
        options.include.clear();
        options.paths = Some(vec!["letters/1".to_owned(), "b/".to_owned()]);
        let selection = Selection::new(&options, "http://example.com/data/").unwrap();
        for (path, selected) in [("letters/1", true), ("letters/2", false), ("b/c/d", true)] {
            assert_eq!(selection.wants_uri(&format!("http://example.com/data/{path}")), selected, "{path}");
        }
    }

    #[test]
    fn types_sizes_and_times_are_selected() {
        let mut pdf = entry("http://example.com/a");
        pdf.metadata.media_type = Some(MediaType::new("Application/PDF; version=1.7"));
        pdf.metadata.length = Some(100);
        pdf.lastmod = Some(DateTime::parse("2013-01-02").unwrap());
        assert!(selects(|options| options.types.push("application/pdf".to_owned()), &pdf));
        assert!(selects(|options| options.types.push("application/*".to_owned()), &pdf));
        assert!(!selects(|options| options.types.push("text/*".to_owned()), &pdf));
        assert!(selects(|options| options.max_size = Some(100), &pdf));
        assert!(!selects(|options| options.max_size = Some(99), &pdf));
        assert!(selects(|options| options.since = DateTime::parse("2013-01-02T12:00:00Z").ok(), &pdf));
        assert!(!selects(|options| options.since = DateTime::parse("2013-01-03").ok(), &pdf));
    }

    #[test]
    fn links_select() {
        let mut member = entry("http://example.com/a");
        let collection = Uri::parse("http://example.com/collection").unwrap();
        member.links.push(Link::new(Relation::Collection, collection));
        assert!(selects(
            |options| options.collections.push("http://example.com/collection".to_owned()),
            &member
        ));
        assert!(!selects(|options| options.collections.push("http://example.com/other".to_owned()), &member));
        assert!(selects(|options| options.only_links.push("collection".to_owned()), &member));
        assert!(!selects(|options| options.only_links.push("describes".to_owned()), &member));
    }
}
