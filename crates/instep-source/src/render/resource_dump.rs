use resourcesync::{Capability, Digests, Entry, Form, Header, Link, MediaType, Metadata, Relation};

use super::{
    Policy, SetPolicy, archive,
    facts::{DumpFacts, PackageFact},
    pages,
    writer::Documents,
};
use crate::Error;

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
    if !documents.keep_immutable(&files(set, &facts)) {
        return Ok(None);
    }
    let entries: Vec<_> = facts.packages.iter().map(|package| package_entry(set, &facts, package)).collect();
    let member = |part: &str| {
        let mut member = Entry::new(set.place.uri(part));
        member.metadata.at = Some(facts.at.0);
        member.metadata.completed = Some(facts.completed.0);
        member
    };
    pages::render(policy, set, NAME, &|form| header(policy, set, &facts, form), member, &entries, documents)?;
    Ok(Some(facts))
}

/// The names, below `out`, of the packages and the copies of their manifests.
pub(super) fn files(set: &SetPolicy, facts: &DumpFacts) -> Vec<String> {
    let names = facts.packages.iter().flat_map(|package| [&package.package, &package.manifest]);
    names.map(|name| set.place.name(name)).collect()
}

fn header(policy: &Policy, set: &SetPolicy, facts: &DumpFacts, form: Form) -> Header {
    let mut header = Header::new(form, Capability::ResourceDump);
    if let Some(metadata) = &mut header.metadata {
        metadata.at = Some(facts.at.0);
        metadata.completed = Some(facts.completed.0);
    }
    header.links.push(Link::new(Relation::Up, set.place.capability_list()));
    header.links.extend(archive::link(policy, set, NAME));
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
