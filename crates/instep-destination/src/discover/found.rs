//! The result of discovery: sets of resources and their capabilities.

use std::{collections::BTreeMap, fmt, time::Duration};

use resourcesync::{Capability, Form, Header, Link, Uri};

use super::{DiscoverError, Trouble};
use crate::documents::Document;

/// The Source that a URL led to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Discovered {
    /// The Source Description (§8); `None` if none is known.
    pub source_description: Option<Uri>,
    /// The requested sets of resources, in the order of the Source Description.
    pub sets: Vec<CapabilitySet>,
    /// `true` if the document that names the sets is known: a Source Description, or an index of Capability Lists.
    pub(crate) names_sets: bool,
    /// Capability Lists that were not requested.
    pub other_sets: Vec<Uri>,
    /// The way on which the first document was found.
    pub way: Way,
    /// The faults on the way.
    pub troubles: Vec<Trouble>,
    /// The pause between two requests that the host's `robots.txt` requests, if `robots.txt` led to the documents.
    pub crawl_delay: Option<Duration>,
}

impl Discovered {
    /// Returns the URIs that were requested to find the sets.
    pub(super) fn asked_for(&self) -> impl Iterator<Item = &Uri> {
        self.sets.iter().filter_map(|set| set.asked_for.as_ref())
    }

    /// Returns the only set.
    ///
    /// # Errors
    /// If there are several. The message lists them.
    pub fn single_set(&self) -> Result<&CapabilitySet, DiscoverError> {
        match &self.sets[..] {
            [set] => Ok(set),
            sets => {
                let sets = sets.iter().filter_map(|set| set.capability_list.clone()).collect();
                Err(DiscoverError::SeveralSets { sets })
            }
        }
    }
}

/// One set of resources and the capabilities that the Source offers for it (§9).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CapabilitySet {
    /// Its Capability List. `None` if a list is used alone.
    pub capability_list: Option<Uri>,
    /// The URI that was requested to find it. The document keeps this identity if the request is redirected (B15).
    pub(crate) asked_for: Option<Uri>,
    /// The document above, to which a list that is used alone has a link. `None` unless that document could not be
    /// fetched.
    pub(crate) lost_above: Option<Uri>,
    /// Links of the Capability List: its description, ways of batch transfer, hubs.
    pub links: Vec<Link>,
    /// The capabilities that are offered.
    pub capabilities: BTreeMap<Capability, Offer>,
    /// Further entries of a capability (AMB-B34): channels alone may have several, and of others only the first is read.
    pub(crate) further: Vec<(Capability, Offer)>,
    /// The number of entries of its Capability List without a usable `loc` or without a capability.
    pub(crate) unusable: u64,
    /// `true` if its documents were translated from others, and do not exist at their URIs.
    pub(crate) is_translated: bool,
    /// `true` if entries were lost in that translation: resources that are not listed may still exist.
    pub(crate) lacks_entries: bool,
    /// `true` if changes may be missing in it that a later one has: the checkpoint stays before them (O786).
    pub(crate) lacks_changes: bool,
}

impl CapabilitySet {
    /// Returns the offer of a capability.
    pub fn get(&self, capability: &Capability) -> Option<&Offer> {
        self.capabilities.get(capability)
    }

    /// Returns the name of the set: the Capability List that a list names and that could not be fetched (O35),
    /// otherwise the requested URL, otherwise its Capability List, otherwise the list that is used alone.
    pub(crate) fn name(&self) -> &str {
        let alone = || self.capabilities.values().next().map(|offer| &offer.uri);
        let asked_for = self.lost_above.as_ref().or(self.asked_for.as_ref());
        let name = asked_for.or(self.capability_list.as_ref()).or_else(alone);
        name.map_or("", Uri::as_str)
    }

    /// Returns the name that an earlier version gave the set: the target of redirects.
    pub(crate) fn former_name(&self) -> &str {
        let alone = || self.capabilities.values().next().map(|offer| &offer.uri);
        self.capability_list.as_ref().or_else(alone).map_or("", Uri::as_str)
    }

    /// Returns the possible former names of the set: the target of redirects, and the document by which it was found
    /// while its Capability List could not be fetched (O32).
    pub(crate) fn former_names(&self) -> impl Iterator<Item = &str> {
        let asked_for = self.asked_for.iter().map(Uri::as_str);
        let lists = self.capabilities.values().map(|offer| offer.uri.as_str());
        std::iter::once(self.former_name()).chain(lists).chain(asked_for)
    }

    /// Returns `true` if a copy may know the set by a name.
    pub(crate) fn is_known_as(&self, name: &str) -> bool {
        self.name() == name || self.former_names().any(|former| former == name)
    }

    /// Returns the documents that are not read because the Capability List names another one for their capability (R7).
    pub(crate) fn unread(&self) -> impl Iterator<Item = (&Capability, &Uri)> {
        let unread = self.further.iter().filter(|(capability, _)| !capability.is_channel());
        unread.map(|(capability, offer)| (capability, &offer.uri))
    }

    /// Returns `true` if changes are offered: a Change List or a Change Dump.
    pub(crate) fn offers_changes(&self) -> bool {
        [Capability::ChangeList, Capability::ChangeDump].iter().any(|one| self.get(one).is_some())
    }

    /// Returns `true` if an inventory is offered: a Resource List or a Resource Dump.
    pub fn has_inventory(&self) -> bool {
        [Capability::ResourceList, Capability::ResourceDump].iter().any(|one| self.get(one).is_some())
    }
}

/// A capability of a set.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Offer {
    /// Its document.
    pub uri: Uri,
    /// Links of its entry in the Capability List: `archives`, `describedby`.
    pub links: Vec<Link>,
    /// The document itself, if it was fetched on the way.
    pub document: Option<Document>,
}

impl Offer {
    pub(crate) fn new(uri: Uri, links: Vec<Link>) -> Self {
        Self { uri, links, document: None }
    }

    /// Returns the form of the document, list or index; `None` if it was not fetched yet (GEN-11).
    pub fn form(&self) -> Option<Form> {
        Some(self.document.as_ref()?.header.form)
    }
}

/// The way on which the first document was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// The URL that the operator gave is the document.
    Itself,
    /// The well-known URI of the site leads to it (§6.3.2).
    WellKnown,
    /// A `Link` header of the answer leads to it (§6.3.3).
    LinkHeader,
    /// A link in a page leads to it (§6.3.3).
    Page,
    /// A `Sitemap:` line of `robots.txt` leads to it (§6.3.4).
    Robots,
    /// A usual name that other clients of ResourceSync try, although no standard defines it.
    Guess,
}

impl Way {
    /// All ways, in the order in which they are tried.
    const ALL: [Self; 6] =
        [Self::Itself, Self::WellKnown, Self::LinkHeader, Self::Page, Self::Robots, Self::Guess];

    /// Returns its name, which a later run reads from the state.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Itself => "itself",
            Self::WellKnown => "well-known",
            Self::LinkHeader => "link-header",
            Self::Page => "page",
            Self::Robots => "robots",
            Self::Guess => "guess",
        }
    }

    /// Returns the way with a name from [`Self::as_str`].
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.as_str() == word)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Itself => "the document itself",
            Self::WellKnown => "the well-known URI",
            Self::LinkHeader => "a Link header",
            Self::Page => "a link in the page",
            Self::Robots => "robots.txt",
            Self::Guess => "a usual name",
        })
    }
}

/// Returns the capability of a document. A Sitemap without `rs:md` is a list of resources (DIA-7).
pub(crate) fn capability(header: &Header) -> Capability {
    header.capability().cloned().unwrap_or(Capability::ResourceList)
}
