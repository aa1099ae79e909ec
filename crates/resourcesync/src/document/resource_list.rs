use super::{Collected, Entry, kind};
use crate::value::Uri;

/// A Resource List (§10.1): the state of a set of resources as of `at`. Its order means nothing (RL-9).
///
/// ```
/// use resourcesync::{Entry, ReadOptions, WriteOptions, document::ResourceList};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let list = ResourceList::as_of("2013-01-03T09:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
///     .with_entry(Entry::new("http://example.com/res1".parse()?));
/// let bytes = list.write(Vec::new(), WriteOptions::new())?;
/// assert_eq!(ResourceList::read(&bytes[..], ReadOptions::new())?, list);
/// # Ok(())
/// # }
/// ```
pub type ResourceList = Collected<kind::ResourceList>;

/// A Resource List Index (§10.2): its members together are one Resource List.
///
/// ```
/// use resourcesync::{Entry, document::{Fit, ResourceListIndex, TimeRange}};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut member = Entry::new("http://example.com/part1.xml".parse()?);
/// member.metadata.at = Some("2013-01-03T09:00:00Z".parse()?);
/// let index = ResourceListIndex::as_of("2013-01-03T09:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
///     .with_entry(member);
/// let later = TimeRange::new(Some("2013-01-04T00:00:00Z".parse()?), None);
/// assert_eq!(index.members_in_range(later, Fit::Overlapping).count(), 0);
/// # Ok(())
/// # }
/// ```
pub type ResourceListIndex = Collected<kind::ResourceListIndex>;

impl ResourceList {
    /// The entry of a resource.
    pub fn resource(&self, uri: &Uri) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.loc == *uri)
    }
}
