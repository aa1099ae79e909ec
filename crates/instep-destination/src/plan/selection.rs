use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use resourcesync::{DateTime, Entry, MediaType, Relation};

use crate::{Error, SelectionOptions};

/// Which resources are wanted, ready to be asked entry by entry.
#[derive(Clone, Debug)]
pub struct Selection {
    include: Patterns,
    exclude: Patterns,
    types: Vec<String>,
    max_size: Option<u64>,
    since: Option<DateTime>,
    only_links: Vec<Relation>,
    collections: Vec<String>,
    profiles: Vec<String>,
}

#[derive(Clone, Debug)]
struct Patterns {
    globs: GlobSet,
    prefixes: Vec<String>,
}

impl Patterns {
    fn new(patterns: &[String]) -> Result<Self, Error> {
        let mut globs = GlobSetBuilder::new();
        let mut prefixes = Vec::new();
        for pattern in patterns {
            if pattern.contains(['*', '?', '[', '{']) {
                let anywhere = if pattern.contains('/') { pattern.clone() } else { format!("**/{pattern}") };
                let glob = GlobBuilder::new(&anywhere).literal_separator(true).build().map_err(|error| {
                    Error::Usage { what: format!("{pattern:?} is not a pattern: {}", error.kind()) }
                })?;
                globs.add(glob);
            } else {
                prefixes.push(pattern.clone());
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

impl Selection {
    /// Reads the operator's patterns.
    ///
    /// # Errors
    /// [`Error::Usage`] where one is not a pattern.
    pub fn new(options: &SelectionOptions) -> Result<Self, Error> {
        Ok(Self {
            include: Patterns::new(&options.include)?,
            exclude: Patterns::new(&options.exclude)?,
            types: options.types.iter().map(|text| text.to_ascii_lowercase()).collect(),
            max_size: options.max_size,
            since: options.since,
            only_links: options.only_links.iter().map(|rel| Relation::parse(rel)).collect(),
            collections: options.collections.clone(),
            profiles: options.profiles.clone(),
        })
    }

    /// Whether a URI is wanted, as far as the URI tells.
    pub fn wants_uri(&self, uri: &str) -> bool {
        (self.include.is_empty() || self.include.matches(uri)) && !self.exclude.matches(uri)
    }

    /// Whether a resource is wanted. What an entry does not state counts against it only where it was asked for.
    pub fn wants(&self, entry: &Entry) -> bool {
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
        let Some(essence) = media_type.map(|media_type| media_type.essence().to_ascii_lowercase()) else {
            return false;
        };
        self.types.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(family) => essence.starts_with(family),
            None => essence == *wanted,
        })
    }
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
        Selection::new(&options).unwrap().wants(entry)
    }

    #[test]
    fn uris_are_selected_by_glob_or_prefix() {
        let table = [
            ("*.pdf", "http://example.com/a/b.pdf", true),
            ("*.pdf", "http://example.com/a/b.txt", false),
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
