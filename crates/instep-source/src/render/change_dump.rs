use resourcesync::{Capability, Entry, Form, Header, Link, Relation};

use super::{
    Policy, SetPolicy, archive,
    facts::{ChangeDumpFacts, ChangePackageFact},
    pages,
    resource_dump::{contents, package_metadata},
    writer::Documents,
};
use crate::Error;

pub(super) const NAME: &str = "changedump.xml";

/// Writes the Change Dump over packages in place (§13.1); it stays open, packages are added (CD-2). When there are too
/// many, the older half leaves it; what is missing leaves it with all before.
pub(super) fn render(
    policy: &Policy,
    set: &SetPolicy,
    held: Option<ChangeDumpFacts>,
    documents: &mut Documents<'_>,
) -> Result<Option<(ChangeDumpFacts, Vec<ChangePackageFact>)>, Error> {
    let Some(mut facts) = held else { return Ok(None) };
    let (packages, most) = (facts.packages.len(), policy.lists.closed_lists);
    let surplus = if packages > most { packages - most / 2 } else { 0 };
    let leaving: Vec<_> = facts.packages.drain(..surplus).collect();
    let missing = facts.packages.iter().rposition(|package| !documents.keep_immutable(&files(set, package)));
    facts.packages.drain(..missing.map_or(0, |last| last + 1));
    facts.from = facts.packages.first().map_or(facts.until, |first| first.from);
    let entries: Vec<_> = facts.packages.iter().map(|package| entry(set, package)).collect();
    let header = |form| header(policy, set, &facts, form);
    pages::render(policy, set, NAME, &header, |part| Entry::new(set.place.uri(part)), &entries, documents)?;
    Ok(Some((facts, leaving)))
}

/// The names, below `out`, of a package and the copy of its manifest.
pub(super) fn files(set: &SetPolicy, package: &ChangePackageFact) -> Vec<String> {
    [&package.package.package, &package.package.manifest].map(|name| set.place.name(name)).to_vec()
}

/// The entry of a package (CD-7 to CD-10).
pub(super) fn entry(set: &SetPolicy, package: &ChangePackageFact) -> Entry {
    let mut entry = Entry::new(set.place.uri(&package.package.package));
    entry.metadata = package_metadata(&package.package);
    entry.metadata.from = Some(package.from.0);
    entry.metadata.until = Some(package.until.0);
    entry.links.push(contents(set, &package.package));
    entry
}

fn header(policy: &Policy, set: &SetPolicy, facts: &ChangeDumpFacts, form: Form) -> Header {
    let mut header = Header::new(form, Capability::ChangeDump);
    if let Some(metadata) = &mut header.metadata {
        metadata.from = Some(facts.from.0);
    }
    header.links.push(Link::new(Relation::Up, set.place.capability_list()));
    header.links.extend(archive::link(policy, set, NAME));
    header
}
