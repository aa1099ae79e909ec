//! Dumps, their indexes, and the manifests of their packages.

use super::{
    Collected, Entry, Link,
    kind::{self, DumpKind, ManifestKind},
};
use crate::value::{MediaType, PackagePath, Relation, Uri};

/// A Resource Dump (§11.1): packages that hold the state of a set of resources as of `at`.
///
/// ```
/// use resourcesync::document::ResourceDump;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dump = ResourceDump::new("2013-01-03T09:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
///     .with_package("http://example.com/part1.zip".parse()?, 4765, Some("http://example.com/part1.xml".parse()?));
/// let package = dump.packages().next().unwrap();
/// assert_eq!(dump.manifest_of(package).unwrap().as_str(), "http://example.com/part1.xml");
/// # Ok(())
/// # }
/// ```
pub type ResourceDump = Collected<kind::ResourceDump>;

/// A Resource Dump Index (RD-11): its members together are one Resource Dump.
///
/// ```
/// use resourcesync::document::ResourceDumpIndex;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let index = ResourceDumpIndex::new("2013-01-03T09:00:00Z".parse()?, "http://example.com/caps.xml".parse()?);
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
/// let dump = ChangeDump::new("2013-01-01T00:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
///     .with_package("http://example.com/day1.zip".parse()?, 512, None);
/// assert_eq!(dump.packages().count(), 1);
/// # Ok(())
/// # }
/// ```
pub type ChangeDump = Collected<kind::ChangeDump>;

/// A Change Dump Index (CD-13): Change Dumps, oldest first.
///
/// ```
/// use resourcesync::document::ChangeDumpIndex;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let index = ChangeDumpIndex::new("2013-01-01T00:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
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
/// let entry = Entry::new("http://example.com/res1".parse()?).with_path(PackagePath::new("/resources/res1"));
/// let manifest =
///     ResourceDumpManifest::new("2013-01-03T09:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
///         .push(entry);
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
/// let manifest = ChangeDumpManifest::new("2013-01-01T00:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
///     .push(gone);
/// assert!(manifest.bitstream_for(&"http://example.com/res1".parse()?).is_none());
/// assert_eq!(manifest.changes().count(), 1);
/// # Ok(())
/// # }
/// ```
pub type ChangeDumpManifest = Collected<kind::ChangeDumpManifest>;

/// A manifest in several parts, as the D-Lib dialect allows (DIA-2): its members are Resource Dump Manifests in the
/// same package. It can be read, see [`crate::package::Package::manifests`]; 1.1 does not provide for it (RDM-1).
pub type ResourceDumpManifestIndex = Collected<kind::ResourceDumpManifestIndex>;

/// A manifest in several parts, as the D-Lib dialect allows (DIA-2): its members are Change Dump Manifests in the same
/// package. It can be read, see [`crate::package::Package::manifests`]; 1.1 does not provide for it (CDM-1).
pub type ChangeDumpManifestIndex = Collected<kind::ChangeDumpManifestIndex>;

impl<K: DumpKind> Collected<K> {
    /// Returns the packages, in document order (CD-6).
    pub fn packages(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Returns the location of a copy of a package's manifest (RD-9, CD-10).
    pub fn manifest_of<'a>(&self, package: &'a Entry) -> Option<&'a Uri> {
        package.link_for(&Relation::Contents).map(|link| &link.href)
    }

    /// Adds a ZIP package of `length` bytes (RD-7, CD-8), with the location of a copy of its manifest. A package with
    /// digests (RD-8), or with the interval of its changes (CD-9), is an [`Entry`] to push.
    #[must_use]
    pub fn with_package(self, package: Uri, length: u64, manifest: Option<Uri>) -> Self {
        let mut entry =
            Entry::new(package).with_media_type(MediaType::new("application/zip")).with_length(length);
        entry.links.extend(manifest.map(|copy| Link::new(Relation::Contents, copy)));
        self.push(entry)
    }
}

impl<K: ManifestKind> Collected<K> {
    /// Returns the entries that have a bitstream in the package.
    pub fn bitstreams(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.metadata.path.is_some())
    }

    /// Returns the path of a resource's bitstream: the last one, if the resource changed several times (ZIP-8). `None`
    /// if its last change is its deletion.
    pub fn bitstream_for(&self, uri: &Uri) -> Option<&PackagePath> {
        self.entries.iter().rev().find(|entry| entry.loc == *uri)?.metadata.path.as_ref()
    }
}
