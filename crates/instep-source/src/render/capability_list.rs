//! The Capability List of a set (§9) and the Source Description (§8).

use resourcesync::{Capability, Entry, Form, Header, Link, Metadata, Relation};

use super::{
    SetPolicy, SourcePolicy, about,
    place::{CAPABILITY_LIST, SOURCE_DESCRIPTION},
    writer::RenderedDocuments,
};
use crate::{Error, sink::Rank};

/// Writes the Capability List of a set (§9): one entry per capability that can be fetched.
pub(super) fn render(
    policy: &SourcePolicy,
    set: &SetPolicy,
    offered: &[Entry],
    documents: &mut RenderedDocuments<'_>,
) -> Result<(), Error> {
    let mut header = Header::new(Form::List, Capability::CapabilityList);
    header.links.push(Link::new(Relation::DescribedBy, about::set_page(policy, set)));
    header.links.push(Link::new(Relation::Up, policy.place.source_description()));
    header.links.extend(set.capability_links.iter().cloned());
    documents.small(&set.place.name(CAPABILITY_LIST), Rank::CapabilityList, &header, &policy.write, offered)
}

/// Writes the Source Description (§8): one entry per set.
pub(super) fn render_source_description(
    policy: &SourcePolicy,
    documents: &mut RenderedDocuments<'_>,
) -> Result<(), Error> {
    let mut header = Header::new(Form::List, Capability::Description);
    header.links.push(Link::new(Relation::DescribedBy, about::source_page(policy)));
    let entries: Vec<_> = policy.sets.iter().map(|set| set_entry(policy, set)).collect();
    documents.small(SOURCE_DESCRIPTION, Rank::Source, &header, &policy.write, &entries)
}

fn set_entry(policy: &SourcePolicy, set: &SetPolicy) -> Entry {
    let mut entry = Entry::new(set.place.capability_list());
    entry.metadata = Metadata::with_capability(Capability::CapabilityList);
    entry.links.push(Link::new(Relation::DescribedBy, about::set_page(policy, set)));
    entry
}
