//! The Change Dump of a set (§13).

use resourcesync::{Capability, Entry, Form, Header, Link, Relation};

use super::{
    SetPolicy, SourcePolicy, packages, pages::PagedDocument, place::CHANGE_DUMP, writer::RenderedDocuments,
};
use crate::{
    Error,
    records::{Moment, PublishedChangeDump, PublishedChangePackage},
};

/// Writes the Change Dump over packages in place (§13.1). It stays open: packages are added to it (CD-2). If it has
/// too many packages, the older half is removed, so that the archive gets complete dumps and not one package at a
/// time. A missing package is removed together with all before it, because a dump must not have a gap. `reached` is the end
/// of the dump in place: its readers need all packages that come after it (C33).
///
/// Returns the dump and the removed packages; `None` if there is no dump.
pub(super) fn render(
    policy: &SourcePolicy,
    set: &SetPolicy,
    held: Option<PublishedChangeDump>,
    reached: Option<Moment>,
    documents: &mut RenderedDocuments<'_>,
) -> Result<Option<(PublishedChangeDump, Vec<PublishedChangePackage>)>, Error> {
    let Some(mut published) = held else { return Ok(None) };
    // The newest package always stays, too.
    let (count, most) = (published.packages.len(), policy.lists.closed_lists.max(1));
    let surplus = if count > most { count - (most / 2).max(1) } else { 0 };
    let known = published.packages.iter().take_while(|package| Some(package.until) <= reached).count();
    let leaving: Vec<_> = published.packages.drain(..surplus.min(known)).collect();
    let missing = published
        .packages
        .iter()
        .rposition(|package| !documents.keep_immutable(&packages::change_files(set, package)));
    published.packages.drain(..missing.map_or(0, |last| last + 1));
    published.from = published.packages.first().map_or(published.until, |first| first.from);
    let entries: Vec<_> =
        published.packages.iter().map(|package| packages::change_entry(set, package)).collect();
    let header = |form| header(policy, set, &published, form);
    let member = |part: &str| Entry::new(set.place.uri(part));
    PagedDocument { policy, set, name: CHANGE_DUMP, snapshot: None, header: &header, member: &member }
        .render(&entries, documents)?;
    Ok(Some((published, leaving)))
}

fn header(policy: &SourcePolicy, set: &SetPolicy, published: &PublishedChangeDump, form: Form) -> Header {
    let mut header = Header::new(form, Capability::ChangeDump);
    if let Some(metadata) = &mut header.metadata {
        metadata.from = Some(published.from.0);
    }
    header.links.push(Link::new(Relation::Up, set.place.capability_list()));
    header.links.extend(policy.archive_link(set, CHANGE_DUMP));
    header
}
