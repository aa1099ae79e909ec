//! The consequences of a Framework Notification (FN-1, FN-2, FN-7). PURE.

use resourcesync::{Capability, Change, Entry, Uri};

/// The consequence of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// The document is read after a delay: the changes of its set arrive over a channel, so it has hardly anything new.
    LookLater,
    /// Something changed that only the documents show: the Source is read now.
    Look,
    /// A document that leads to others is reported as deleted. The document above decides if that is true.
    Gone(Uri),
}

/// Returns the consequence of each entry. `has_channel` is `true` if every change of the set also arrives over a
/// channel.
pub(crate) fn leads(entries: &[Entry], has_channel: bool) -> Vec<Consequence> {
    let lead = |entry: &Entry| match (&entry.metadata.capability, &entry.metadata.change) {
        (Some(capability), _) if has_channel && lists_resources(capability) => Consequence::LookLater,
        (Some(Capability::CapabilityList | Capability::Description), Some(Change::Deleted)) => {
            Consequence::Gone(entry.loc.clone())
        }
        _ => Consequence::Look,
    };
    entries.iter().map(lead).collect()
}

fn lists_resources(capability: &Capability) -> bool {
    use Capability::{ChangeDump, ChangeList, ResourceDump, ResourceList};
    matches!(capability, ResourceList | ResourceDump | ChangeList | ChangeDump)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(capability: Capability, change: Change) -> Entry {
        let mut entry = Entry::new(Uri::parse("http://a/document.xml").unwrap());
        (entry.metadata.capability, entry.metadata.change) = (Some(capability), Some(change));
        entry
    }

    #[test]
    fn fn_7_a_named_document_is_read_later_if_its_changes_arrive_over_a_channel() {
        let entries = [
            entry(Capability::ResourceList, Change::Created),
            entry(Capability::ChangeList, Change::Updated),
            entry(Capability::CapabilityList, Change::Updated),
            Entry::new(Uri::parse("http://a/document.xml").unwrap()),
        ];
        assert_eq!(
            leads(&entries, true),
            [Consequence::LookLater, Consequence::LookLater, Consequence::Look, Consequence::Look]
        );
        assert!(leads(&entries, false).iter().all(|lead| *lead == Consequence::Look));
    }

    #[test]
    fn fn_2_only_a_deleted_capability_list_or_description_is_in_doubt() {
        let uri = Uri::parse("http://a/document.xml").unwrap();
        for capability in [Capability::CapabilityList, Capability::Description] {
            assert_eq!(leads(&[entry(capability, Change::Deleted)], true), [Consequence::Gone(uri.clone())]);
        }
        assert_eq!(leads(&[entry(Capability::ResourceList, Change::Deleted)], false), [Consequence::Look]);
    }
}
