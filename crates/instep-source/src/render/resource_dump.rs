use resourcesync::{Capability, Digests, Entry, Form, Header, Link, MediaType, Metadata, Relation};

use super::{
    Policy, SetPolicy,
    facts::{DumpFacts, PackageFact},
    writer::Documents,
};
use crate::{Error, sink::Rank};

pub(super) const NAME: &str = "resourcedump.xml";

/// Writes the Resource Dump over packages in place (§11.1), and an index where there are more than one document
/// holds (RD-11); none where a package is missing.
pub(super) fn render(
    policy: &Policy,
    set: &SetPolicy,
    held: Option<DumpFacts>,
    documents: &mut Documents<'_>,
) -> Result<Option<DumpFacts>, Error> {
    let Some(facts) = held else { return Ok(None) };
    let names = facts.packages.iter().flat_map(|package| [&package.package, &package.manifest]);
    let names: Vec<_> = names.map(|name| set.place.name(name)).collect();
    if !documents.keep_immutable(&names) {
        return Ok(None);
    }
    let entries: Vec<_> = facts.packages.iter().map(|package| package_entry(set, &facts, package)).collect();
    let room = usize::try_from(policy.lists.entries).unwrap_or(usize::MAX);
    if entries.len() <= room {
        let header = header(set, &facts, Form::List);
        documents.small(&set.place.name(NAME), Rank::Index, &header, &policy.write, &entries)?;
        return Ok(Some(facts));
    }
    let mut members = Vec::new();
    for (index, entries) in entries.chunks(room).enumerate() {
        let part = super::part_name("resourcedump-list", facts.at.0, index + 1, "xml");
        let mut header = header(set, &facts, Form::List);
        header.links.push(Link::new(Relation::Index, set.place.uri(NAME)));
        documents.small(&set.place.name(&part), Rank::Part, &header, &policy.write, entries)?;
        let mut member = Entry::new(set.place.uri(&part));
        member.metadata.at = Some(facts.at.0);
        member.metadata.completed = Some(facts.completed.0);
        members.push(member);
    }
    let header = header(set, &facts, Form::Index);
    documents.small(&set.place.name(NAME), Rank::Index, &header, &policy.write, &members)?;
    Ok(Some(facts))
}

fn header(set: &SetPolicy, facts: &DumpFacts, form: Form) -> Header {
    let mut header = Header::new(form, Capability::ResourceDump);
    if let Some(metadata) = &mut header.metadata {
        metadata.at = Some(facts.at.0);
        metadata.completed = Some(facts.completed.0);
    }
    header.links.push(Link::new(Relation::Up, set.place.capability_list()));
    header
}

fn package_entry(set: &SetPolicy, facts: &DumpFacts, package: &PackageFact) -> Entry {
    let mut entry = Entry::new(set.place.uri(&package.package));
    entry.metadata = package_metadata(package);
    entry.metadata.at = Some(facts.at.0);
    entry.metadata.completed = Some(facts.completed.0);
    entry.links.push(contents(set, package));
    entry
}

/// What is said of the file of a package (RD-7, RD-8).
pub(super) fn package_metadata(package: &PackageFact) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.hash = Digests::parse(&package.hash, |_| ());
    metadata.length = Some(package.length);
    metadata.media_type = Some(MediaType::new("application/zip"));
    metadata
}

/// The link to the copy of a package's manifest (RD-9).
pub(super) fn contents(set: &SetPolicy, package: &PackageFact) -> Link {
    let mut link = Link::new(Relation::Contents, set.place.uri(&package.manifest));
    link.media_type = Some(MediaType::new("application/xml"));
    link
}
