//! Capability Lists: one entry for each capability that a Source offers for a set of resources.

use super::{Collected, Entry, kind};
use crate::value::{Capability, Uri};

/// A Capability List (§9): the capabilities that a Source offers for one set of resources.
///
/// ```
/// use resourcesync::{Capability, document::CapabilityList};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let list = CapabilityList::new("http://example.com/.well-known/resourcesync".parse()?)
///     .with_capability(Capability::ResourceList, "http://example.com/resourcelist.xml".parse()?);
/// let found = list.resource_for(&Capability::ResourceList).unwrap();
/// assert_eq!(found.loc.as_str(), "http://example.com/resourcelist.xml");
/// assert!(list.resource_for(&Capability::ChangeList).is_none());
/// # Ok(())
/// # }
/// ```
pub type CapabilityList = Collected<kind::CapabilityList>;

/// A Capability List Index: Capability Lists, one for each set. Versions before 1.1 had it in the place of the Source
/// Description, and 1.1 advises against it (CAP-12).
///
/// ```
/// use resourcesync::{Entry, document::CapabilityListIndex};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let index = CapabilityListIndex::new("http://example.com/.well-known/resourcesync".parse()?)
///     .push(Entry::new("http://example.com/caps-1.xml".parse()?));
/// assert_eq!(index.members().count(), 1);
/// # Ok(())
/// # }
/// ```
pub type CapabilityListIndex = Collected<kind::CapabilityListIndex>;

impl CapabilityList {
    /// Adds a capability that is offered at a URI (CAP-6).
    #[must_use]
    pub fn with_capability(self, capability: Capability, location: Uri) -> Self {
        self.push(Entry::new(location).with_capability(capability))
    }

    /// Returns the entry of a capability; the first one, if a Source lists several against CAP-8.
    pub fn resource_for(&self, capability: &Capability) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.metadata.capability.as_ref() == Some(capability))
    }
}
