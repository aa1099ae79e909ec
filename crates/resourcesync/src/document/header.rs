use super::{Link, Metadata};
use crate::value::{Capability, Relation, Uri};

/// The root element: a list of things, or an index over lists (GEN-9). Nothing else tells the two apart (GEN-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// `urlset`
    List,
    /// `sitemapindex`
    Index,
}

/// What stands under the root before the entries (§7).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// List or index.
    pub form: Form,
    /// The root's `rs:md`; none in a plain Sitemap (DIA-7).
    pub metadata: Option<Metadata>,
    /// The root's links, in order.
    pub links: Vec<Link>,
}

impl Header {
    /// The header of a document with a capability.
    pub fn new(form: Form, capability: Capability) -> Self {
        Self { form, metadata: Some(Metadata::with_capability(capability)), links: Vec::new() }
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
    pub fn described_by(&self) -> Option<&Uri> {
        self.link_for(&Relation::DescribedBy).map(|link| &link.href)
    }
}
