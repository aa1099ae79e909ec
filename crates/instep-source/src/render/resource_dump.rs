//! The Resource Dump of a set (§11).

use resourcesync::{Capability, Entry, Form, Header, Link, Relation};

use super::{
    SetPolicy, SourcePolicy, packages,
    pages::{PagedDocument, snapshot_part},
    place::RESOURCE_DUMP,
    writer::RenderedDocuments,
};
use crate::{Error, records::PublishedResourceDump};

/// Writes the Resource Dump over packages in place (§11.1), with an index if one document does not hold them all
/// (RD-11). Returns `None` if a package is missing.
pub(super) fn render(
    policy: &SourcePolicy,
    set: &SetPolicy,
    held: Option<PublishedResourceDump>,
    documents: &mut RenderedDocuments<'_>,
) -> Result<Option<PublishedResourceDump>, Error> {
    let Some(published) = held else { return Ok(None) };
    if !documents.keep_immutable(&packages::resource_files(set, &published)) {
        return Ok(None);
    }
    let entries: Vec<_> =
        published.packages.iter().map(|package| packages::resource_entry(set, &published, package)).collect();
    let member = |part: &str| {
        let mut member = Entry::new(set.place.uri(part));
        member.metadata.at = Some(published.at.0);
        member.metadata.completed = Some(published.completed.0);
        member
    };
    let header = |form| header(policy, set, &published, form);
    let snapshot = Some(published.at.0);
    PagedDocument { policy, set, name: RESOURCE_DUMP, snapshot, header: &header, member: &member }
        .render(&entries, documents)?;
    Ok(Some(published))
}

/// Returns the names, below `out`, of all files of a dump in place except the document that represents it: packages,
/// copies of their manifests, and parts of a long dump.
pub(super) fn files(
    set: &SetPolicy,
    published: &PublishedResourceDump,
    documents: &RenderedDocuments<'_>,
) -> Vec<String> {
    let parts = (1..).map(|number| set.place.name(&snapshot_part(RESOURCE_DUMP, published.at.0, number)));
    let parts = parts.take_while(|name| documents.was_in_place(name));
    packages::resource_files(set, published).into_iter().chain(parts).collect()
}

fn header(policy: &SourcePolicy, set: &SetPolicy, published: &PublishedResourceDump, form: Form) -> Header {
    let mut header = Header::new(form, Capability::ResourceDump);
    if let Some(metadata) = &mut header.metadata {
        metadata.at = Some(published.at.0);
        metadata.completed = Some(published.completed.0);
    }
    header.links.push(Link::new(Relation::Up, set.place.capability_list()));
    header.links.extend(policy.archive_link(set, RESOURCE_DUMP));
    header
}
