//! Documents of entries that are at hand, in parts if there are too many.

use resourcesync::{Entry, Form, Header, Link, Relation};

use super::{SetPolicy, SourcePolicy, writer::RenderedDocuments};
use crate::{Error, sink::Rank};

/// Writes a document of entries that are at hand: in one piece, or in parts and an index where there are more than a
/// document holds (GEN-12). Parts are named by their number; `member` is the entry of a part in the index. Returns the
/// names of the documents.
pub(super) fn render(
    policy: &SourcePolicy,
    set: &SetPolicy,
    name: &str,
    header: &dyn Fn(Form) -> Header,
    member: impl Fn(&str) -> Entry,
    entries: &[Entry],
    documents: &mut RenderedDocuments<'_>,
) -> Result<Vec<String>, Error> {
    let room = usize::try_from(policy.lists.entries).unwrap_or(usize::MAX);
    let whole = set.place.name(name);
    if entries.len() <= room {
        documents.small(&whole, Rank::Index, &header(Form::List), &policy.write, entries)?;
        return Ok(vec![whole]);
    }
    let mut part_header = header(Form::List);
    part_header.links.push(Link::new(Relation::Index, set.place.uri(name)));
    let (mut members, mut names) = (Vec::new(), Vec::new());
    for (index, entries) in entries.chunks(room).enumerate() {
        let part = format!("{}-{:04}.xml", name.trim_end_matches(".xml"), index + 1);
        names.push(set.place.name(&part));
        documents.small(&set.place.name(&part), Rank::Part, &part_header, &policy.write, entries)?;
        members.push(member(&part));
    }
    documents.small(&whole, Rank::Index, &header(Form::Index), &policy.write, &members)?;
    names.push(whole);
    Ok(names)
}
