use super::{Collected, kind};

/// A Resource List Archive (Archives §3): superseded Resource Lists with their `at`, oldest first.
///
/// ```
/// use resourcesync::{Entry, document::{Fit, ResourceListArchive, TimeRange}};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut list = Entry::new("http://example.com/resourcelist-1.xml".parse()?);
/// list.metadata.at = Some("2012-01-03T09:00:00Z".parse()?);
/// let archive = ResourceListArchive::below("http://example.com/caps.xml".parse()?).with_entry(list);
/// assert_eq!(archive.entries_in_range(TimeRange::default(), Fit::Overlapping).count(), 1);
/// # Ok(())
/// # }
/// ```
pub type ResourceListArchive = Collected<kind::ResourceListArchive>;
/// An index over Resource List Archives (ARC-12).
pub type ResourceListArchiveIndex = Collected<kind::ResourceListArchiveIndex>;
/// A Resource Dump Archive (Archives §4).
pub type ResourceDumpArchive = Collected<kind::ResourceDumpArchive>;
/// An index over Resource Dump Archives (ARC-12).
pub type ResourceDumpArchiveIndex = Collected<kind::ResourceDumpArchiveIndex>;
/// A Change List Archive (Archives §5): closed Change Lists with `from` and `until`, oldest first.
///
/// ```
/// use resourcesync::document::ChangeListArchive;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let archive = ChangeListArchive::below("http://example.com/caps.xml".parse()?);
/// assert_eq!(archive.capability().unwrap().as_str(), "changelist-archive");
/// # Ok(())
/// # }
/// ```
pub type ChangeListArchive = Collected<kind::ChangeListArchive>;
/// An index over Change List Archives (ARC-12).
pub type ChangeListArchiveIndex = Collected<kind::ChangeListArchiveIndex>;
/// A Change Dump Archive (Archives §6).
pub type ChangeDumpArchive = Collected<kind::ChangeDumpArchive>;
/// An index over Change Dump Archives (ARC-12).
pub type ChangeDumpArchiveIndex = Collected<kind::ChangeDumpArchiveIndex>;
