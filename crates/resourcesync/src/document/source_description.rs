//! Source Descriptions: the mandatory document of a Source, and its index.

use super::{Collected, Entry, Link, kind};
use crate::value::{Capability, Relation, Uri};

/// A Source Description (§8): leads to the Capability List of each set of resources.
///
/// ```
/// use resourcesync::document::SourceDescription;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let description = SourceDescription::new()
///     .with_capability_list("http://example.com/caps1.xml".parse()?, None)
///     .with_capability_list("http://example.com/caps2.xml".parse()?, None);
/// let lists: Vec<_> = description.capability_lists().map(|entry| entry.loc.as_str()).collect();
/// assert_eq!(lists, ["http://example.com/caps1.xml", "http://example.com/caps2.xml"]);
/// # Ok(())
/// # }
/// ```
pub type SourceDescription = Collected<kind::SourceDescription>;

/// A Source Description Index (SD-11): the Source Descriptions of a Source that has several.
///
/// ```
/// use resourcesync::document::SourceDescriptionIndex;
/// assert_eq!(SourceDescriptionIndex::new().members().count(), 0);
/// ```
pub type SourceDescriptionIndex = Collected<kind::SourceDescriptionIndex>;

impl SourceDescription {
    /// Adds a Capability List (SD-7), and the description of its set (SD-9).
    #[must_use]
    pub fn with_capability_list(self, list: Uri, described_by: Option<Uri>) -> Self {
        let mut entry = Entry::new(list).with_capability(Capability::CapabilityList);
        entry.links.extend(described_by.map(|target| Link::new(Relation::DescribedBy, target)));
        self.push(entry)
    }

    /// Returns the Capability Lists, one for each set of resources (SD-6).
    pub fn capability_lists(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }
}
