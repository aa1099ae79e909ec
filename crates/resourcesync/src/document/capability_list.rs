use super::{Collected, Entry, kind};
use crate::value::{Capability, Uri};

/// A Capability List (§9): what a Source offers for one set of resources.
///
/// ```
/// use resourcesync::{Capability, document::CapabilityList};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let list = CapabilityList::below("http://example.com/.well-known/resourcesync".parse()?)
///     .with_capability(Capability::ResourceList, "http://example.com/resourcelist.xml".parse()?);
/// let found = list.resource_for(&Capability::ResourceList).unwrap();
/// assert_eq!(found.loc.as_str(), "http://example.com/resourcelist.xml");
/// assert!(list.resource_for(&Capability::ChangeList).is_none());
/// # Ok(())
/// # }
/// ```
pub type CapabilityList = Collected<kind::CapabilityList>;

impl CapabilityList {
    /// The same with one more capability, offered at a URI (CAP-6).
    #[must_use]
    pub fn with_capability(self, capability: Capability, location: Uri) -> Self {
        let mut entry = Entry::new(location);
        entry.metadata.capability = Some(capability);
        self.with_entry(entry)
    }

    /// Where a capability is offered; the first entry, where a Source has several against CAP-8.
    pub fn resource_for(&self, capability: &Capability) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.metadata.capability.as_ref() == Some(capability))
    }
}
