//! The decisions of the operator that documents depend on.

use std::{path::PathBuf, sync::Arc};

use resourcesync::{Entry, Link, Relation, Uri, WriteOptions};

use super::{
    SetPlace, SourcePlace,
    place::{PATCHES, STYLESHEET, VERSION_PLACES, archive_name},
};
use crate::{
    Archives, CodingRule, Content, Error, ListOptions, PublishOptions, SetOptions, records::rules_id,
};

/// The most entries of a document (GEN-12).
const MOST_ENTRIES: u64 = 50_000;

/// The options that the documents of a Source depend on, besides its content.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct SourcePolicy {
    /// Names and URIs.
    pub place: SourcePlace,
    /// Options for Resource Lists and Change Lists.
    pub lists: ListOptions,
    /// Options for the XML of documents.
    pub write: WriteOptions,
    /// The text of the stylesheet that documents name; `None` if they name none.
    pub stylesheet: Option<Arc<str>>,
    /// The retention of archives; `None` if there are no archives.
    pub archives: Option<Archives>,
    /// A description of the Source; `None`: a page is written.
    pub described_by: Option<Uri>,
    /// Each document has a gzip twin.
    pub gzip_twins: bool,
    /// Writes a plain Sitemap beside each Resource List.
    pub sitemap_twin: bool,
    /// Names the lists in `robots.txt`.
    pub robots: bool,
    /// The sets, in the order of the catalogue.
    pub sets: Vec<SetPolicy>,
}

/// The options that the documents of one set depend on, besides its content.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct SetPolicy {
    /// Its name; empty for the only set.
    pub name: String,
    /// Names and URIs.
    pub place: SetPlace,
    /// A description of the set; `None`: a page is written.
    pub described_by: Option<Uri>,
    /// Publishes a Resource List.
    pub resource_list: bool,
    /// Publishes a Change List.
    pub change_list: bool,
    /// An identifier of the operator's rules for resources; empty if there are none.
    pub rules: String,
    /// The URIs that resources of the set lie below, and their folders; resources of a manifest may lie anywhere
    /// else.
    pub prefixes: Vec<(String, Option<PathBuf>)>,
    /// The resources that are stored in a content coding.
    pub codings: Vec<CodingRule>,
    /// Further entries of the Capability List.
    pub channels: Vec<Entry>,
    /// Further links of the Capability List.
    pub capability_links: Vec<Link>,
}

impl SourcePolicy {
    /// Derives the policy from the options of the operator.
    ///
    /// # Errors
    /// If the options contradict each other or cannot be followed.
    pub(crate) fn new(options: &PublishOptions) -> Result<Self, Error> {
        let place = SourcePlace::new(&options.base_url)?;
        check_sets(options)?;
        check_lists(&options.lists)?;
        let mut write = WriteOptions::new();
        write.version = options.spec_version;
        let path = || format!("{}{}", place.path(), place.set("").name(STYLESHEET));
        write.stylesheet = options.stylesheet.as_ref().map(|_| path());
        let sets = options.sets.iter().map(|set| SetPolicy {
            name: set.name.clone(),
            place: place.set(&set.name),
            described_by: set.described_by.clone(),
            resource_list: set.resource_list,
            change_list: set.change_list,
            rules: rules_id(set, options.versions.is_some()),
            prefixes: set.content.iter().map(|content| prefix(content, place.base())).collect(),
            codings: set.codings.clone(),
            channels: set.channels.clone(),
            capability_links: set.capability_links.clone(),
        });
        Ok(Self {
            sets: sets.collect(),
            place,
            lists: bounded(&options.lists),
            write,
            stylesheet: options.stylesheet.clone(),
            archives: options.archives,
            described_by: options.described_by.clone(),
            gzip_twins: options.gzip_twins,
            sitemap_twin: options.sitemap_twin,
            robots: options.robots,
        })
    }

    /// Returns the link from a document to its archive (ARC-4); `None` if there are no archives.
    pub(super) fn archive_link(&self, set: &SetPolicy, of: &str) -> Option<Link> {
        self.archives.map(|_| Link::new(Relation::Archives, set.place.uri(&archive_name(of))))
    }
}

/// Returns the URI prefix and the folder of a content. One that cannot be resolved is refused when the content is
/// opened.
fn prefix(content: &Content, base: &str) -> (String, Option<PathBuf>) {
    let (prefix, folder) = match content {
        Content::Folder { prefix, root } => (prefix.as_deref(), Some(root.clone())),
        Content::Supplied { prefix, .. } => (prefix.as_deref(), None),
        Content::Manifest { .. } => (None, None),
    };
    let resolve = |prefix| Uri::parse(base).and_then(|base| base.resolve(prefix)).ok();
    let uri = prefix.and_then(resolve).map_or_else(|| base.to_owned(), Uri::into_string);
    (if uri.ends_with('/') { uri } else { format!("{uri}/") }, folder)
}

fn check_sets(options: &PublishOptions) -> Result<(), Error> {
    let mut names: Vec<_> = options.sets.iter().map(|set| set.name.as_str()).collect();
    if names.is_empty() {
        return Err(Error::option("set", "a Source needs at least one set of resources"));
    }
    if names.len() > 64 {
        return Err(Error::option("set", "a Source has at most 64 sets"));
    }
    options.sets.iter().try_for_each(SetOptions::check_name)?;
    let is_taken = |name: &str| {
        name == PATCHES && options.patches().is_some()
            || VERSION_PLACES.contains(&name) && options.versions.is_some()
    };
    if let Some(name) = names.iter().find(|name| is_taken(name)) {
        let what = format!("{name:?} is the name of a folder of this Source: give the set another name");
        return Err(Error::option("set", what));
    }
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::option("set", format!("two sets have the name {:?}", twice[0])));
    }
    Ok(())
}

fn check_lists(lists: &ListOptions) -> Result<(), Error> {
    if lists.entries.max(lists.rotation.entries) > MOST_ENTRIES {
        let what = format!("a document has at most {MOST_ENTRIES} entries (GEN-12); choose a lower limit");
        return Err(Error::option("list limits", what));
    }
    if lists.entries == 0 || lists.bytes < 4_096 || lists.rotation.entries == 0 {
        let what = "a document needs room for one entry and 4 KiB";
        return Err(Error::option("list limits", what));
    }
    Ok(())
}

/// Returns these options with no more closed lists than an index can name beside the open one (GEN-12).
fn bounded(lists: &ListOptions) -> ListOptions {
    let most = usize::try_from(MOST_ENTRIES - 1).unwrap_or(usize::MAX);
    ListOptions { closed_lists: lists.closed_lists.min(most), ..lists.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o534_a_change_list_of_more_entries_than_a_document_may_have_is_refused() {
        let mut options = PublishOptions::new("/nowhere", "http://example.com");
        for (entries, is_possible) in [(MOST_ENTRIES, true), (MOST_ENTRIES + 1, false)] {
            options.lists.rotation.entries = entries;
            assert_eq!(SourcePolicy::new(&options).is_ok(), is_possible, "{entries}");
        }
    }

    #[test]
    fn o699_an_index_names_no_more_change_lists_than_a_document_may_have_entries() {
        let mut options = PublishOptions::new("/nowhere", "http://example.com");
        for (wanted, named) in [(0, 0), (100, 100), (usize::MAX, 49_999)] {
            options.lists.closed_lists = wanted;
            assert_eq!(SourcePolicy::new(&options).unwrap().lists.closed_lists, named);
        }
    }
}
