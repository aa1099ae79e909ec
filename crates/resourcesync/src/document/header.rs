//! The header of a document: its root element, and the metadata and links under it.

use super::{Entry, Link, Metadata};
use crate::{
    dialect::Dialect,
    finding::Places,
    value::{Capability, Relation, Uri},
};

/// The root element: a list, or an index of lists (GEN-9). Nothing else distinguishes the two (GEN-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// `urlset`
    List,
    /// `sitemapindex`
    Index,
}

/// The metadata and links under the root (§7).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Header {
    /// The root element.
    pub form: Form,
    /// The root's `rs:md`; `None` in a plain Sitemap (DIA-7).
    pub metadata: Option<Metadata>,
    /// The root's links, in order.
    pub links: Vec<Link>,
    /// The dialect of the document before it was read as 1.1 (DIA-1); not part of the value.
    pub dialect: Dialect,
    pub(crate) places: Places,
}

impl PartialEq for Header {
    fn eq(&self, other: &Self) -> bool {
        self.form == other.form && self.metadata == other.metadata && self.links == other.links
    }
}

impl Eq for Header {}

impl Header {
    /// Creates the header of a document with a capability.
    pub fn new(form: Form, capability: Capability) -> Self {
        Self { metadata: Some(Metadata::with_capability(capability)), ..Self::bare(form) }
    }

    /// Creates the header of a plain Sitemap (DIA-7).
    pub fn bare(form: Form) -> Self {
        Self {
            form,
            metadata: None,
            links: Vec::new(),
            dialect: Dialect::default(),
            places: Places::default(),
        }
    }

    /// Returns the document's capability; `None` in a plain Sitemap.
    pub fn capability(&self) -> Option<&Capability> {
        self.metadata.as_ref()?.capability.as_ref()
    }

    /// Returns the first link of a relation.
    pub fn link_for(&self, rel: &Relation) -> Option<&Link> {
        self.links.iter().find(|link| link.rel == *rel)
    }

    /// Returns the links of a relation, in order.
    pub fn links_for<'a>(&'a self, rel: &'a Relation) -> impl Iterator<Item = &'a Link> {
        self.links.iter().filter(move |link| link.rel == *rel)
    }

    /// Returns the document one level up (NAV-1).
    pub fn up(&self) -> Option<&Uri> {
        self.link_for(&Relation::Up).map(|link| &link.href)
    }

    /// Returns the index that this document is a member of (NAV-2).
    pub fn index(&self) -> Option<&Uri> {
        self.link_for(&Relation::Index).map(|link| &link.href)
    }

    /// Returns the description of the Source or of the set of resources.
    pub fn describedby(&self) -> Option<&Uri> {
        self.link_for(&Relation::DescribedBy).map(|link| &link.href)
    }

    /// Returns `true` if the entries are Capability Lists: in a Source Description, and in the Capability List Index
    /// that drafts used instead (DIA-2).
    pub fn lists_capability_lists(&self) -> bool {
        match self.capability() {
            Some(Capability::Description) => self.form == Form::List,
            Some(Capability::CapabilityList) => self.form == Form::Index,
            _ => false,
        }
    }

    /// Returns `true` if an entry is a member of an index: always below a `sitemapindex`; below a `urlset` if it states
    /// the document's own capability, as indexes published with the wrong root do.
    pub fn is_member(&self, entry: &Entry) -> bool {
        self.form == Form::Index
            || (entry.metadata.capability.is_some()
                && entry.metadata.capability.as_ref() == self.capability())
    }
}
