//! What an entry promises, as the plan keeps it.

mod steps;

use resourcesync::{Entry, Link, Relation, Uri};
use serde::{Deserialize, Serialize};

use crate::{map::without_fragment, state::Wanted};

pub(crate) use steps::{Step, following};

/// What is found again when a resource is fetched, beside its facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Extra {
    /// The content coding that length and digests stand for (AMB-B38).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) encoding: Option<String>,
    /// Other places with the same bytes, the preferred first (§14.2).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) mirrors: Vec<String>,
    /// Patches against the version before, each with its media type (§14.3).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) patches: Vec<(String, String)>,
    /// The versions that were promised before it, oldest first: a patch may need them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) steps: Vec<Step>,
    /// Where this version stays when the resource moves on (§14.6).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) mementos: Vec<String>,
    /// Where states as of a time can be asked for (§14.6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timegate: Option<String>,
    /// The record that describes it, the first where there are several (§14.5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) describedby: Option<String>,
    /// Whether it is such a record itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) describes: bool,
    /// Where the states are listed (§14.6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timemap: Option<String>,
    /// Where a version lies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lies_at: Option<String>,
    /// Whether the Source does not say if it is still there (AMB-B14).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) ask: bool,
    /// How often it was tried in earlier runs.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) attempts: u32,
}

impl Extra {
    /// What the state kept.
    pub(crate) fn of(wanted: &Wanted) -> Self {
        wanted.extra.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    fn of_entry(entry: &Entry) -> Self {
        let mut mirrors: Vec<_> = entry.links_for(&Relation::Duplicate).collect();
        mirrors.sort_by_key(|link| link.preference());
        let patch = |link: &Link| {
            Some((link.href.as_str().to_owned(), link.media_type.as_ref()?.as_str().to_owned()))
        };
        Self {
            encoding: entry.metadata.encoding.as_deref().map(str::to_owned),
            mirrors: mirrors.into_iter().map(|link| link.href.as_str().to_owned()).collect(),
            patches: entry.links_for(&Relation::Patch).filter_map(patch).collect(),
            mementos: entry.links_for(&Relation::Memento).map(|link| link.href.as_str().to_owned()).collect(),
            describedby: entry.link_for(&Relation::DescribedBy).map(|link| link.href.as_str().to_owned()),
            describes: entry.link_for(&Relation::Describes).is_some(),
            timegate: entry.link_for(&Relation::TimeGate).map(|link| link.href.as_str().to_owned()),
            ..Self::default()
        }
    }

    pub(crate) fn into_text(self) -> Option<Box<str>> {
        if self == Self::default() {
            return None;
        }
        serde_json::to_string(&self).ok().map(Into::into)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(attempts: &u32) -> bool {
    *attempts == 0
}

/// The version that an entry promises. Its URI is that of the resource: without the fragment (D6).
pub(crate) fn wanted(entry: &Entry, ask: bool) -> Wanted {
    let mut wanted = Wanted::new(resource(&entry.loc));
    let metadata = &entry.metadata;
    wanted.facts.length = metadata.length;
    wanted.facts.digests = metadata.hash.clone();
    wanted.facts.lastmod = entry.lastmod;
    wanted.facts.datetime = metadata.datetime;
    wanted.facts.media_type.clone_from(&metadata.media_type);
    wanted.facts.links = entry.links.iter().filter(|link| outlasts(&link.rel)).cloned().collect();
    wanted.extra = Extra { ask, ..Extra::of_entry(entry) }.into_text();
    wanted
}

/// Whether a link says something of the resource that is true after its transfer.
fn outlasts(rel: &Relation) -> bool {
    !matches!(rel, Relation::Patch | Relation::Duplicate | Relation::Contents | Relation::Memento)
}

/// The version of its target that a link promises.
pub(crate) fn wanted_link(link: &Link) -> Wanted {
    let mut wanted = Wanted::new(resource(&link.href));
    wanted.facts.length = link.length;
    wanted.facts.digests = link.hash.clone();
    wanted.facts.lastmod = link.modified;
    wanted.facts.media_type.clone_from(&link.media_type);
    if link.rel == Relation::DescribedBy {
        wanted.extra = Extra { describes: true, ..Extra::default() }.into_text();
    }
    wanted
}

/// The URI of a resource: without the fragment (D6).
pub(crate) fn resource(uri: &Uri) -> Uri {
    let text = without_fragment(uri);
    if text.len() == uri.as_str().len() {
        uri.clone()
    } else {
        Uri::parse(text).unwrap_or_else(|_| uri.clone())
    }
}

#[cfg(test)]
mod tests {
    use resourcesync::MediaType;

    use super::*;

    #[test]
    fn mirrors_are_kept_in_order_of_preference() {
        let uri = |text: &str| Uri::parse(text).unwrap();
        let mut entry = Entry::new(uri("http://example.com/a#part"));
        for (href, pri) in [
            ("http://b.example.com/a", Some(2)),
            ("http://c.example.com/a", None),
            ("http://d.example.com/a", Some(1)),
        ] {
            let mut link = Link::new(Relation::Duplicate, uri(href));
            link.pri = pri;
            entry.links.push(link);
        }
        let mut patch = Link::new(Relation::Patch, uri("http://example.com/a.patch"));
        patch.media_type = Some(MediaType::new("application/json-patch"));
        entry.links.push(patch);
        let wanted = wanted(&entry, false);
        let extra = Extra::of(&wanted);
        assert_eq!(wanted.uri.as_str(), "http://example.com/a");
        assert_eq!(
            extra.mirrors,
            ["http://d.example.com/a", "http://b.example.com/a", "http://c.example.com/a"]
        );
        assert_eq!(extra.patches.len(), 1);
    }

    #[test]
    fn a_plain_entry_keeps_nothing_extra() {
        assert_eq!(wanted(&Entry::new(Uri::parse("http://example.com/a").unwrap()), false).extra, None);
    }
}
