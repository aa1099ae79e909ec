//! Desired states: the state of a resource according to a document of the Source, in one shape for lists, changes,
//! manifests and messages.

mod provenance;
mod retrieval;

use std::borrow::Cow;

use resourcesync::{Change, Digests, Entry, Link, Relation, Uri};

use super::{Place, ResourceMetadata, VersionKey};
use crate::map::without_fragment;

pub(crate) use retrieval::{PatchLink, PatchStep, Retrieval};

/// The presence of a resource as a document states it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DesiredPresence {
    /// It exists, in the state that the metadata describe.
    #[default]
    Present,
    /// It changed in an unknown way, so that only a request can show its state (§12.1, AMB-B14).
    Unclear,
    /// The Source deleted the resource.
    Absent,
    /// It exists and is outside the operator's selection.
    Excluded,
}

impl DesiredPresence {
    /// Returns the presence after a change (ATT-8); an entry of a Resource List has no change.
    pub(crate) fn after(change: Option<&Change>) -> Self {
        match change {
            None | Some(Change::Created | Change::Updated) => Self::Present,
            Some(Change::Deleted) => Self::Absent,
            Some(_) => Self::Unclear,
        }
    }
}

/// The state that a resource should have according to one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Desired {
    /// Its URI as written, without fragment; for a version kept beside its resource, the
    /// [`VersionKey`](super::VersionKey).
    pub uri: Uri,
    /// Its presence.
    pub presence: DesiredPresence,
    /// The stated metadata of its bytes. `datetime` is the time of the change, or the nearest earlier one (AMB-B16).
    pub metadata: ResourceMetadata,
    /// The position of the entry in its document; zero if the order means nothing.
    pub ordinal: u64,
    /// `true` if `metadata.datetime` is only the earliest time at which it may have changed, so that the order of
    /// reading decides.
    pub is_undated: bool,
    /// `true` if it is a change with its own time, which distinguishes it from others.
    pub says_when: bool,
    /// `true` if it is a change that was added to a list since that was read: it is new, whatever its time.
    pub is_appended: bool,
    /// `true` if it is a change without a time, which takes that of the change before it.
    pub inherits_time: bool,
    /// `true` if it is an entry of an inventory, not a change.
    pub is_listed: bool,
    /// The number of attempts in earlier runs.
    pub attempts: u32,
    /// Other ways to get its bytes; `None` if the entry has only its URI.
    pub retrieval: Option<Box<Retrieval>>,
}

impl Desired {
    /// Returns an existing resource of which only the URI is known.
    pub(crate) fn new(uri: Uri) -> Self {
        Self { uri, ..Self::default() }
    }

    /// Returns the state that an entry promises. The URI is that of the resource, without the fragment (D6).
    pub(crate) fn of_entry(entry: &Entry, presence: DesiredPresence) -> Self {
        let metadata = &entry.metadata;
        let mut desired = Self::new(resource(&entry.loc));
        desired.presence = presence;
        desired.metadata.length = metadata.length;
        desired.metadata.digests = metadata.hash.clone();
        desired.metadata.lastmod = entry.lastmod;
        desired.metadata.datetime = metadata.datetime;
        desired.metadata.media_type.clone_from(&metadata.media_type);
        desired.metadata.links =
            entry.links.iter().filter(|link| outlasts_transfer(&link.rel)).cloned().collect();
        desired.metadata.links.extend(provenance::of_entry(&desired.uri, entry));
        desired.set_retrieval(Retrieval::of_entry(entry));
        desired
    }

    /// Returns the links to keep with bytes whose own digests are `held`: those of the entry, and its provenance if
    /// the entry has more digests.
    pub(crate) fn links_beside(&self, held: &Digests) -> Cow<'_, [Link]> {
        provenance::links_beside(&self.uri, &self.metadata, held)
    }

    /// Returns its metadata for bytes whose own digests are `held`, with the links to keep beside them.
    pub(crate) fn metadata_beside(&self, held: &Digests) -> ResourceMetadata {
        let mut metadata = self.metadata.clone();
        if let Cow::Owned(links) = self.links_beside(held) {
            metadata.links = links;
        }
        metadata
    }

    /// Returns the memory that it takes, in resources of usual size.
    pub(crate) fn weight(&self) -> usize {
        let places = self.retrieval.as_ref().map_or(0, |of| of.mirrors.len() + of.mementos.len());
        self.metadata.weight() + places / 8
    }

    /// Returns the state of its target that a link promises.
    pub(crate) fn of_link(link: &Link) -> Self {
        let mut desired = Self::new(resource(&link.href));
        desired.metadata.length = link.length;
        desired.metadata.digests = link.hash.clone();
        desired.metadata.lastmod = link.modified;
        desired.metadata.media_type.clone_from(&link.media_type);
        if link.rel == Relation::DescribedBy {
            desired.set_retrieval(Retrieval { describes: true, ..Retrieval::default() });
        }
        desired
    }

    /// Removes the entry's length and digests, which may describe a difference and not the resource.
    pub(crate) fn forget_fixity(&mut self) {
        (self.metadata.digests, self.metadata.length, self.metadata.media_type) = Default::default();
        self.metadata.links.retain(|link| link.rel != Relation::Via || link.href != self.uri);
    }

    /// Returns the place of the entry among all that were read.
    pub(crate) fn place(&self) -> Place {
        Place { time: self.metadata.datetime.filter(|_| !self.is_undated), ordinal: self.ordinal }
    }

    /// Returns the ways to get its bytes beside its URI.
    pub(crate) fn retrieval(&self) -> &Retrieval {
        static NOTHING: Retrieval = Retrieval::NONE;
        self.retrieval.as_deref().unwrap_or(&NOTHING)
    }

    /// Returns `true` if a request, or a deletion, can bring about this state. The URI of a version has the present state of
    /// its resource: only a place of its own has the version.
    pub(crate) fn can_be_requested(&self) -> bool {
        self.presence == DesiredPresence::Absent
            || VersionKey::parse(&self.uri).is_none()
            || self.retrieval().lies_at.is_some()
    }

    /// Sets the ways to get its bytes. The usual case, only the URI, takes no memory.
    pub(crate) fn set_retrieval(&mut self, retrieval: Retrieval) {
        self.retrieval = (retrieval != Retrieval::NONE).then(|| Box::new(retrieval));
    }

    /// Records that the held file is damaged: if its transfer fails, the next run does not take it for current either.
    pub(crate) fn replace_damaged(&mut self) {
        self.retrieval.get_or_insert_default().replaces_damaged = true;
    }

    /// Reads the text of [`Retrieval::to_text`].
    ///
    /// # Errors
    /// If the text has none of its forms: an unreadable row never counts as an empty one.
    pub(crate) fn set_retrieval_text(&mut self, text: Option<&str>) -> Result<(), serde_json::Error> {
        self.retrieval = text.map(serde_json::from_str).transpose()?.map(Box::new);
        Ok(())
    }
}

/// Returns `true` if the meaning of a link remains true after the transfer of its resource.
fn outlasts_transfer(rel: &Relation) -> bool {
    !matches!(rel, Relation::Patch | Relation::Duplicate | Relation::Contents | Relation::Memento)
}

/// Returns the URI of a resource: without the fragment (D6).
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
        let desired = Desired::of_entry(&entry, DesiredPresence::Present);
        let mirrors: Vec<_> = desired.retrieval().mirrors.iter().map(String::as_str).collect();
        assert_eq!(desired.uri.as_str(), "http://example.com/a");
        assert_eq!(mirrors, ["http://d.example.com/a", "http://b.example.com/a", "http://c.example.com/a"]);
        assert_eq!(desired.retrieval().patches.len(), 1);
    }

    #[test]
    fn a_plain_entry_says_nothing_beyond_its_uri() {
        let entry = Entry::new(Uri::parse("http://example.com/a").unwrap());
        assert_eq!(Desired::of_entry(&entry, DesiredPresence::Present).retrieval, None);
    }

    #[test]
    fn an_unknown_change_is_unclear() {
        assert_eq!(DesiredPresence::after(Some(&Change::parse("moved"))), DesiredPresence::Unclear);
        assert_eq!(DesiredPresence::after(None), DesiredPresence::Present);
    }

    #[test]
    fn a_retrieval_that_cannot_be_read_is_an_error() {
        let mut desired = Desired::new(Uri::parse("http://example.com/a").unwrap());
        assert!(desired.set_retrieval_text(Some("{\"mirrors\": 5}")).is_err());
        desired
            .set_retrieval_text(Some(r#"{"patches":[["http://h/p","application/json-patch"]],"attempts":2}"#))
            .unwrap();
        assert_eq!(desired.retrieval().patches[0].media_type, "application/json-patch");
    }
}
