use super::{Link, Metadata};
use crate::{
    finding::{Places, Position},
    value::{Algorithm, ChangeFreq, DateTime, Digest, Relation, Uri},
};

/// A `url` or `sitemap` element (§7): one resource, change, package, document or bitstream.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Entry {
    /// Its URI (GEN-14).
    pub loc: Uri,
    /// Last modification of the resource; it says nothing about the change event (GEN-15, TIME-9).
    pub lastmod: Option<DateTime>,
    /// How often it is expected to change (GEN-16).
    pub changefreq: Option<ChangeFreq>,
    /// The Sitemap's `priority`, kept as written (AMB-B35).
    pub priority: Option<Box<str>>,
    /// Its `rs:md`; without attributes where there is none.
    pub metadata: Metadata,
    /// Its links, in order.
    pub links: Vec<Link>,
    /// Where it stands in the document; not part of its value.
    pub position: Position,
    pub(crate) places: Places,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        let value = |entry: &Self| (entry.lastmod, entry.changefreq);
        self.loc == other.loc
            && value(self) == value(other)
            && self.priority == other.priority
            && self.metadata == other.metadata
            && self.links == other.links
    }
}

impl Eq for Entry {}

impl Entry {
    /// An entry of nothing but its URI.
    pub fn new(loc: Uri) -> Self {
        Self { loc, ..Self::default() }
    }

    /// The first link of a relation.
    pub fn link_for(&self, rel: &Relation) -> Option<&Link> {
        self.links.iter().find(|link| link.rel == *rel)
    }

    /// The links of a relation, in order.
    pub fn links_for<'a>(&'a self, rel: &'a Relation) -> impl Iterator<Item = &'a Link> {
        self.links.iter().filter(move |link| link.rel == *rel)
    }

    /// The digest of one algorithm.
    pub fn digest(&self, algorithm: &Algorithm) -> Option<&Digest> {
        self.metadata.hash.get(algorithm)
    }

    /// The strongest digest that can be verified here.
    ///
    /// ```
    /// # use resourcesync::{Algorithm, Digest, Entry};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut entry = Entry::new("http://example.com/res1".parse()?);
    /// entry.metadata.hash = Digest::new(Algorithm::Md5, &[7; 16]).into_iter().collect();
    /// assert_eq!(entry.strongest_digest(), entry.digest(&Algorithm::Md5));
    /// # Ok(())
    /// # }
    /// ```
    pub fn strongest_digest(&self) -> Option<&Digest> {
        self.metadata.strongest_digest()
    }

    /// Takes everything away, keeping buffers.
    pub fn clear(&mut self) {
        self.loc.set("");
        (self.lastmod, self.changefreq, self.priority) = (None, None, None);
        self.metadata.clear();
        self.links.clear();
        self.position = Position::default();
        self.places.clear();
    }
}
