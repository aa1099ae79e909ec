//! Entries: the statements of a document about one resource or document.

use super::{Link, Metadata};
use crate::{
    finding::{Places, Position},
    value::{
        Algorithm, Capability, ChangeFreq, DateTime, Digest, Digests, MediaType, PackagePath, Relation, Uri,
    },
};

/// A `url` or `sitemap` element (§7): one resource, change, package, document or bitstream.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Entry {
    /// The URI of the resource or document (GEN-14).
    pub loc: Uri,
    /// Time of the resource's last modification, not of its change (GEN-15, TIME-9).
    pub lastmod: Option<DateTime>,
    /// Expected frequency of changes (GEN-16).
    pub changefreq: Option<ChangeFreq>,
    /// The `priority` of the Sitemap protocol, kept as written.
    pub priority: Option<Box<str>>,
    /// The `rs:md` element; without attributes if there is none.
    pub metadata: Metadata,
    /// The `rs:ln` elements, in order.
    pub links: Vec<Link>,
    /// The images and videos that the page shows, by the Sitemap extensions for them. Writers do not write them, so they
    /// are not part of the value.
    pub media: Vec<Uri>,
    /// Place in the document; not part of the value.
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
    /// Creates an entry that has a URI and nothing else.
    ///
    /// ```
    /// use resourcesync::{Algorithm, Entry, Hasher, MediaType};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut hasher = Hasher::new(&[Algorithm::Sha256]);
    /// hasher.update(b"text");
    /// let entry = Entry::new("http://example.com/res1".parse()?)
    ///     .with_lastmod("2013-01-02T13:00:00Z".parse()?)
    ///     .with_digests(hasher.finish())
    ///     .with_length(4)
    ///     .with_media_type(MediaType::new("text/plain"));
    /// assert_eq!(entry.metadata.length, Some(4));
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(loc: Uri) -> Self {
        Self { loc, ..Self::default() }
    }

    /// Sets the time of the resource's last modification (GEN-15).
    #[must_use]
    pub fn with_lastmod(mut self, lastmod: DateTime) -> Self {
        self.lastmod = Some(lastmod);
        self
    }

    /// Sets the capability of the document that the entry leads to (ATT-7).
    #[must_use]
    pub fn with_capability(mut self, capability: Capability) -> Self {
        self.metadata.capability = Some(capability);
        self
    }

    /// Sets the length in bytes (ATT-15).
    #[must_use]
    pub fn with_length(mut self, length: u64) -> Self {
        self.metadata.length = Some(length);
        self
    }

    /// Sets the digests (ATT-12).
    #[must_use]
    pub fn with_digests(mut self, digests: Digests) -> Self {
        self.metadata.hash = digests;
        self
    }

    /// Sets the media type (ATT-18).
    #[must_use]
    pub fn with_media_type(mut self, media_type: MediaType) -> Self {
        self.metadata.media_type = Some(media_type);
        self
    }

    /// Sets the path of the bitstream in its package (ATT-16).
    #[must_use]
    pub fn with_path(mut self, path: PackagePath) -> Self {
        self.metadata.path = Some(path);
        self
    }

    /// Sets the times of a snapshot that the entry leads to: a member of an index, a package, an archived document
    /// (ATT-5, ARC-7).
    #[must_use]
    pub fn with_snapshot(mut self, at: DateTime, completed: Option<DateTime>) -> Self {
        (self.metadata.at, self.metadata.completed) = (Some(at), completed);
        self
    }

    /// Sets the interval of changes that the entry leads to; without `until` it is open (ATT-6, ARC-9).
    #[must_use]
    pub fn with_interval(mut self, from: DateTime, until: Option<DateTime>) -> Self {
        (self.metadata.from, self.metadata.until) = (Some(from), until);
        self
    }

    /// Adds a link (§14).
    #[must_use]
    pub fn with_link(mut self, link: Link) -> Self {
        self.links.push(link);
        self
    }

    /// Returns the first link of a relation.
    pub fn link_for(&self, rel: &Relation) -> Option<&Link> {
        self.links.iter().find(|link| link.rel == *rel)
    }

    /// Returns the links of a relation, in order.
    pub fn links_for<'a>(&'a self, rel: &'a Relation) -> impl Iterator<Item = &'a Link> {
        self.links.iter().filter(move |link| link.rel == *rel)
    }

    /// Returns the digest of one algorithm.
    pub fn digest(&self, algorithm: &Algorithm) -> Option<&Digest> {
        self.metadata.hash.get(algorithm)
    }

    /// Returns the strongest digest that can be verified here.
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

    /// Empties the entry and keeps its buffers, so that a reader can use it again.
    pub fn clear(&mut self) {
        self.loc.set("");
        (self.lastmod, self.changefreq, self.priority) = (None, None, None);
        self.metadata.clear();
        self.links.clear();
        self.media.clear();
        self.position = Position::default();
        self.places.clear();
    }
}
