//! Archives and their indexes: superseded documents with the times they cover.

use super::{Collected, kind};

/// A Resource List Archive (Archives §3): superseded Resource Lists with their `at`, oldest first.
///
/// ```
/// use resourcesync::{Entry, document::{ResourceListArchive, TimeRange}};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let list = Entry::new("http://example.com/resourcelist-1.xml".parse()?)
///     .with_snapshot("2012-01-03T09:00:00Z".parse()?, None);
/// let archive = ResourceListArchive::new("http://example.com/caps.xml".parse()?).push(list);
/// assert!(archive.to_xml()?.contains("resourcelist-archive"));
/// assert_eq!(archive.entries_overlapping(TimeRange::default()).count(), 1);
/// # Ok(())
/// # }
/// ```
pub type ResourceListArchive = Collected<kind::ResourceListArchive>;
/// An index of Resource List Archives (ARC-12).
pub type ResourceListArchiveIndex = Collected<kind::ResourceListArchiveIndex>;
/// A Resource Dump Archive (Archives §4): superseded Resource Dumps with their `at`, oldest first.
pub type ResourceDumpArchive = Collected<kind::ResourceDumpArchive>;
/// An index of Resource Dump Archives (ARC-12).
pub type ResourceDumpArchiveIndex = Collected<kind::ResourceDumpArchiveIndex>;
/// A Change List Archive (Archives §5): closed Change Lists with `from` and `until`, oldest first.
///
/// ```
/// use resourcesync::{Entry, document::ChangeListArchive};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let list = Entry::new("http://example.com/changelist-1.xml".parse()?)
///     .with_interval("2012-01-03T00:00:00Z".parse()?, Some("2012-01-04T00:00:00Z".parse()?));
/// let archive = ChangeListArchive::new("http://example.com/caps.xml".parse()?).push(list);
/// assert_eq!(archive.capability().unwrap().as_str(), "changelist-archive");
/// archive.write_to(std::io::sink())?;
/// # Ok(())
/// # }
/// ```
pub type ChangeListArchive = Collected<kind::ChangeListArchive>;
/// An index of Change List Archives (ARC-12).
pub type ChangeListArchiveIndex = Collected<kind::ChangeListArchiveIndex>;
/// A Change Dump Archive (Archives §6): Change Dumps with `from` and `until`, oldest first.
pub type ChangeDumpArchive = Collected<kind::ChangeDumpArchive>;
/// An index of Change Dump Archives (ARC-12).
pub type ChangeDumpArchiveIndex = Collected<kind::ChangeDumpArchiveIndex>;
