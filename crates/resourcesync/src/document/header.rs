use super::{Link, Metadata};
use crate::{
    dialect::Dialect,
    finding::Places,
    value::{Capability, Relation, Uri},
};

/// The root element: a list of things, or an index over lists (GEN-9). Nothing else tells the two apart (GEN-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// `urlset`
    List,
    /// `sitemapindex`
    Index,
}

/// What stands under the root before the entries (§7).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Header {
    /// List or index.
    pub form: Form,
    /// The root's `rs:md`; none in a plain Sitemap (DIA-7).
    pub metadata: Option<Metadata>,
    /// The root's links, in order.
    pub links: Vec<Link>,
    /// What it was written in before it was read as 1.1 (DIA-1); not part of its value.
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
    /// The header of a document with a capability.
    pub fn new(form: Form, capability: Capability) -> Self {
        Self { metadata: Some(Metadata::with_capability(capability)), ..Self::bare(form) }
    }

    /// The header of a plain Sitemap (DIA-7).
    pub fn bare(form: Form) -> Self {
        Self {
            form,
            metadata: None,
            links: Vec::new(),
            dialect: Dialect::default(),
            places: Places::default(),
        }
    }

    /// What the document is; none in a plain Sitemap.
    pub fn capability(&self) -> Option<&Capability> {
        self.metadata.as_ref()?.capability.as_ref()
    }

    /// The first link of a relation.
    pub fn link_for(&self, rel: &Relation) -> Option<&Link> {
        self.links.iter().find(|link| link.rel == *rel)
    }

    /// The links of a relation, in order.
    pub fn links_for<'a>(&'a self, rel: &'a Relation) -> impl Iterator<Item = &'a Link> {
        self.links.iter().filter(move |link| link.rel == *rel)
    }

    /// The document one level up (NAV-1).
    pub fn up(&self) -> Option<&Uri> {
        self.link_for(&Relation::Up).map(|link| &link.href)
    }

    /// The index this document is a member of (NAV-2).
    pub fn index(&self) -> Option<&Uri> {
        self.link_for(&Relation::Index).map(|link| &link.href)
    }

    /// The description of the Source or set.
    pub fn describedby(&self) -> Option<&Uri> {
        self.link_for(&Relation::DescribedBy).map(|link| &link.href)
    }
}
