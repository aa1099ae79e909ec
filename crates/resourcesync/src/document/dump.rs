use super::{
    Collected, Entry, Link,
    kind::{self, Dump, Manifest},
};
use crate::value::{MediaType, PackagePath, Relation, Uri};

/// A Resource Dump (§11.1): packages that hold the state of a set of resources as of `at`.
///
/// ```
/// use resourcesync::document::ResourceDump;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dump = ResourceDump::as_of("2013-01-03T09:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
///     .with_package("http://example.com/part1.zip".parse()?, 4765, Some("http://example.com/part1.xml".parse()?));
/// let package = dump.packages().next().unwrap();
/// assert_eq!(dump.manifest_of(package).unwrap().as_str(), "http://example.com/part1.xml");
/// # Ok(())
/// # }
/// ```
pub type ResourceDump = Collected<kind::ResourceDump>;

/// A Resource Dump Index (RD-11).
///
/// ```
/// use resourcesync::document::ResourceDumpIndex;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let index = ResourceDumpIndex::as_of("2013-01-03T09:00:00Z".parse()?, "http://example.com/caps.xml".parse()?);
/// assert!(index.at().is_some());
/// # Ok(())
/// # }
/// ```
pub type ResourceDumpIndex = Collected<kind::ResourceDumpIndex>;

/// A Change Dump (§13.1): packages with the changes since `from`, oldest first.
///
/// ```
/// use resourcesync::document::ChangeDump;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dump = ChangeDump::since("2013-01-01T00:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
///     .with_package("http://example.com/day1.zip".parse()?, 512, None);
/// assert_eq!(dump.packages().count(), 1);
/// # Ok(())
/// # }
/// ```
pub type ChangeDump = Collected<kind::ChangeDump>;

/// A Change Dump Index (CD-13).
///
/// ```
/// use resourcesync::document::ChangeDumpIndex;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let index = ChangeDumpIndex::since("2013-01-01T00:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
///     .with_until("2013-01-02T00:00:00Z".parse()?);
/// assert!(index.is_closed());
/// # Ok(())
/// # }
/// ```
pub type ChangeDumpIndex = Collected<kind::ChangeDumpIndex>;

/// The manifest of a Resource Dump's package (§11.2).
///
/// ```
/// use resourcesync::{Entry, PackagePath, document::ResourceDumpManifest};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut entry = Entry::new("http://example.com/res1".parse()?);
/// entry.metadata.path = Some(PackagePath::new("/resources/res1"));
/// let manifest =
///     ResourceDumpManifest::as_of("2013-01-03T09:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
///         .with_entry(entry);
/// assert_eq!(manifest.bitstream_for(&"http://example.com/res1".parse()?).unwrap().as_str(), "/resources/res1");
/// # Ok(())
/// # }
/// ```
pub type ResourceDumpManifest = Collected<kind::ResourceDumpManifest>;

/// The manifest of a Change Dump's package (§13.2).
///
/// ```
/// use resourcesync::{Change, Entry, document::ChangeDumpManifest};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let gone = Entry::changed("http://example.com/res1".parse()?, Change::Deleted, "2013-01-01T01:00:00Z".parse()?);
/// let manifest = ChangeDumpManifest::since("2013-01-01T00:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
///     .with_entry(gone);
/// assert!(manifest.bitstream_for(&"http://example.com/res1".parse()?).is_none());
/// assert_eq!(manifest.changes().count(), 1);
/// # Ok(())
/// # }
/// ```
pub type ChangeDumpManifest = Collected<kind::ChangeDumpManifest>;

impl<K: Dump> Collected<K> {
    /// The packages, in document order (CD-6).
    pub fn packages(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Where a copy of a package's manifest lies (RD-9, CD-10).
    pub fn manifest_of<'a>(&self, package: &'a Entry) -> Option<&'a Uri> {
        package.link_for(&Relation::Contents).map(|link| &link.href)
    }

    /// The same with one more ZIP package of so many bytes (RD-7, CD-8), and the copy of its manifest.
    #[must_use]
    pub fn with_package(self, package: Uri, length: u64, manifest: Option<Uri>) -> Self {
        let mut entry = Entry::new(package);
        entry.metadata.media_type = Some(MediaType::new("application/zip"));
        entry.metadata.length = Some(length);
        entry.links.extend(manifest.map(|copy| Link::new(Relation::Contents, copy)));
        self.with_entry(entry)
    }
}

impl<K: Manifest> Collected<K> {
    /// The entries that have a bitstream in the package.
    pub fn bitstreams(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.metadata.path.is_some())
    }

    /// Where the bitstream of a resource lies; the last one, where a resource changed several times (ZIP-8). None where
    /// its last change is its deletion.
    pub fn bitstream_for(&self, uri: &Uri) -> Option<&PackagePath> {
        self.entries.iter().rev().find(|entry| entry.loc == *uri)?.metadata.path.as_ref()
    }
}
