//! Resource Lists and their indexes.

use super::{Collected, Entry, kind};
use crate::value::Uri;

/// A Resource List (§10.1): the state of a set of resources as of `at`. The order of its entries has no meaning (RL-9).
///
/// ```
/// use resourcesync::{Entry, MediaType, ReadOptions, document::ResourceList};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let list = ResourceList::new("2013-01-03T09:00:00Z".parse()?, "http://example.com/caps.xml".parse()?).push(
///     Entry::new("http://example.com/res1".parse()?)
///         .with_length(8876)
///         .with_media_type(MediaType::new("text/html")),
/// );
/// let xml = list.to_xml()?;
/// assert_eq!(ResourceList::read(xml.as_bytes(), ReadOptions::new())?, list);
/// # Ok(())
/// # }
/// ```
pub type ResourceList = Collected<kind::ResourceList>;

/// A Resource List Index (§10.2): its members together are one Resource List.
///
/// ```
/// use resourcesync::{Entry, document::{ResourceListIndex, TimeRange}};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let member = Entry::new("http://example.com/part1.xml".parse()?)
///     .with_snapshot("2013-01-03T09:00:00Z".parse()?, None);
/// let index = ResourceListIndex::new("2013-01-03T09:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
///     .push(member);
/// let later = TimeRange::new(Some("2013-01-04T00:00:00Z".parse()?), None);
/// assert_eq!(index.members_overlapping(later).count(), 0);
/// # Ok(())
/// # }
/// ```
pub type ResourceListIndex = Collected<kind::ResourceListIndex>;

impl ResourceList {
    /// Returns the entry of a resource.
    pub fn resource(&self, uri: &Uri) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.loc == *uri)
    }
}
