use std::{collections::BTreeMap, fmt};

use resourcesync::{Capability, Form, Header, Link, Uri};

use super::DiscoverError;
use crate::documents::Document;

/// What a URL led to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Discovered {
    /// The Source Description, where one is known (§8).
    pub source_description: Option<Uri>,
    /// The sets of resources that were asked for, in the order of the Source Description.
    pub sets: Vec<CapabilitySet>,
    /// Capability Lists that were not asked for.
    pub other_sets: Vec<Uri>,
    /// How they were found.
    pub way: Way,
    /// What went wrong on the way.
    pub troubles: Vec<Trouble>,
}

impl Discovered {
    /// The set, where there is one only.
    ///
    /// # Errors
    /// When there are several: the message lists them.
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

/// One set of resources and what the Source offers for it (§9).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CapabilitySet {
    /// Its Capability List; none where a list stands alone.
    pub capability_list: Option<Uri>,
    /// Links of the Capability List: its description, ways of batch transfer, hubs.
    pub links: Vec<Link>,
    /// What is offered.
    pub capabilities: BTreeMap<Capability, Offer>,
    /// Further entries of a capability (AMB-B34): channels alone may have several.
    pub(crate) further: Vec<(Capability, Offer)>,
}

impl CapabilitySet {
    /// Where a capability lies.
    pub fn get(&self, capability: &Capability) -> Option<&Offer> {
        self.capabilities.get(capability)
    }

    /// Whether it tells what resources there are, not only what changed.
    pub fn has_inventory(&self) -> bool {
        [Capability::ResourceList, Capability::ResourceDump].iter().any(|one| self.get(one).is_some())
    }
}

/// A capability and where it lies.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Offer {
    /// Its document.
    pub uri: Uri,
    /// Links of its entry in the Capability List: `archives`, `describedby`.
    pub links: Vec<Link>,
    /// The document itself, where it was fetched on the way.
    pub document: Option<Document>,
}

impl Offer {
    pub(crate) fn new(uri: Uri, links: Vec<Link>) -> Self {
        Self { uri, links, document: None }
    }

    /// List or index, once it was fetched (GEN-11).
    pub fn form(&self) -> Option<Form> {
        Some(self.document.as_ref()?.header.form)
    }
}

/// How the first document was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// It is what the operator named.
    Itself,
    /// The well-known URI (§6.3.2).
    WellKnown,
    /// A `Link` header (§6.3.3).
    LinkHeader,
    /// A link in a page (§6.3.3).
    Page,
    /// A `Sitemap:` line of `robots.txt` (§6.3.4).
    Robots,
    /// A name that clients of ResourceSync try: no standard has it.
    Guess,
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

/// Something that went wrong and did not end the search.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trouble {
    /// Where.
    pub uri: Uri,
    /// What.
    pub what: String,
}

impl Trouble {
    pub(crate) fn new(uri: &Uri, what: impl Into<String>) -> Self {
        Self { uri: uri.clone(), what: what.into() }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what.starts_with(self.uri.as_str()) {
            true => f.write_str(&self.what),
            false => write!(f, "{}: {}", self.uri, self.what),
        }
    }
}

/// What a document is: a Sitemap without `rs:md` is a list of resources (DIA-7).
pub(crate) fn capability(header: &Header) -> Capability {
    header.capability().cloned().unwrap_or(Capability::ResourceList)
}
