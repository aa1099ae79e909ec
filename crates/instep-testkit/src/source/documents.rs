//! The documents of a `FakeSource`, written for each request.

use resourcesync::{Capability, DateTime, DocumentWriter, Entry, Form, Header, Link, Relation, WriteOptions};

use super::shelf::{FakeShelf, Interval};

pub(super) const DESCRIPTION: &str = ".well-known/resourcesync";
pub(super) const CAPABILITY_LIST: &str = "capabilitylist.xml";
pub(super) const RESOURCE_LIST: &str = "resourcelist.xml";
pub(super) const CHANGE_LIST: &str = "changelist.xml";
pub(super) const DUMP: &str = "resourcedump.xml";
pub(super) const BATCH: &str = "batch";
pub(super) const CHANGE_DUMP: &str = "changedump.xml";

/// Returns the document at a path; `None` if there is none.
pub(super) fn render(shelf: &FakeShelf, path: &str) -> Option<Vec<u8>> {
    let layout = &shelf.layout;
    match path {
        DESCRIPTION => Some(description(shelf)),
        CAPABILITY_LIST => Some(capability_list(shelf)),
        RESOURCE_LIST if layout.resource_list => Some(match layout.part_entries {
            Some(size) => resource_list_index(shelf, size),
            None => resource_list(shelf, &published(shelf), None),
        }),
        CHANGE_LIST if layout.change_list && layout.change_index => Some(change_list_index(shelf)),
        CHANGE_LIST if layout.change_list => shelf.intervals.last().map(|open| change_list(shelf, open)),
        _ => part(shelf, path),
    }
}

/// Returns a member of an index; `None` if the path names none.
fn part(shelf: &FakeShelf, path: &str) -> Option<Vec<u8>> {
    let numbered =
        |stem: &str| -> Option<usize> { path.strip_prefix(stem)?.strip_suffix(".xml")?.parse().ok() };
    if let Some(number) = numbered("resourcelist-") {
        let entries = published(shelf);
        let part = entries.chunks(shelf.layout.part_entries?).nth(number.checked_sub(1)?)?;
        return Some(resource_list(shelf, part, Some(RESOURCE_LIST)));
    }
    let number = numbered("changelist-")?;
    shelf.intervals.iter().find(|interval| interval.number == number).map(|one| change_list(shelf, one))
}

fn description(shelf: &FakeShelf) -> Vec<u8> {
    let header = Header::new(Form::List, Capability::Description);
    write(&header, &[leads_to(shelf, CAPABILITY_LIST, Capability::CapabilityList)])
}

fn capability_list(shelf: &FakeShelf) -> Vec<u8> {
    let layout = &shelf.layout;
    let offered = [
        (layout.resource_list, RESOURCE_LIST, Capability::ResourceList),
        (layout.dump, DUMP, Capability::ResourceDump),
        (layout.change_list, CHANGE_LIST, Capability::ChangeList),
        (layout.change_dump, CHANGE_DUMP, Capability::ChangeDump),
    ];
    let offered = offered.into_iter().filter(|(offered, ..)| *offered);
    let entries: Vec<_> = offered.map(|(_, path, capability)| leads_to(shelf, path, capability)).collect();
    let mut header = header(shelf, Form::List, Capability::CapabilityList, DESCRIPTION);
    if layout.batch {
        header.links.push(Link::new(Relation::parse(Relation::BATCH), shelf.uri(BATCH)));
    }
    write(&header, &entries)
}

fn published(shelf: &FakeShelf) -> Vec<Entry> {
    let entries = shelf.snapshot.iter().map(|(path, entry)| shelf.publish(path, entry));
    entries.chain(shelf.strays.iter().cloned()).collect()
}

fn resource_list(shelf: &FakeShelf, entries: &[Entry], index: Option<&str>) -> Vec<u8> {
    let mut header = header(shelf, Form::List, Capability::ResourceList, CAPABILITY_LIST);
    header.links.extend(index.map(|index| Link::new(Relation::Index, shelf.uri(index))));
    write(&at(header, shelf.at), entries)
}

fn resource_list_index(shelf: &FakeShelf, size: usize) -> Vec<u8> {
    let header = header(shelf, Form::Index, Capability::ResourceList, CAPABILITY_LIST);
    let parts = published(shelf).len().div_ceil(size);
    let part = |number| Entry::new(shelf.uri(&format!("resourcelist-{number:04}.xml")));
    write(&at(header, shelf.at), &(1..=parts).map(part).collect::<Vec<_>>())
}

fn change_list(shelf: &FakeShelf, interval: &Interval) -> Vec<u8> {
    let mut header = header(shelf, Form::List, Capability::ChangeList, CAPABILITY_LIST);
    if shelf.layout.change_index {
        header.links.push(Link::new(Relation::Index, shelf.uri(CHANGE_LIST)));
    }
    let changes: Vec<_> = interval.changes.iter().map(|one| shelf.publish(&one.path, &one.entry)).collect();
    write(&span(header, interval.from, interval.until), &changes)
}

fn change_list_index(shelf: &FakeShelf) -> Vec<u8> {
    let header = header(shelf, Form::Index, Capability::ChangeList, CAPABILITY_LIST);
    let first = shelf.intervals.first().map_or(shelf.at, |interval| interval.from);
    let member = |interval: &Interval| {
        let mut entry = Entry::new(shelf.uri(&format!("changelist-{:06}.xml", interval.number)));
        entry.metadata.from = Some(interval.from);
        entry.metadata.until = interval.until;
        entry
    };
    write(&span(header, first, None), &shelf.intervals.iter().map(member).collect::<Vec<_>>())
}

fn leads_to(shelf: &FakeShelf, path: &str, capability: Capability) -> Entry {
    let mut entry = Entry::new(shelf.uri(path));
    entry.metadata.capability = Some(capability);
    entry
}

pub(super) fn header(shelf: &FakeShelf, form: Form, capability: Capability, up: &str) -> Header {
    let mut header = Header::new(form, capability);
    header.links.push(Link::new(Relation::Up, shelf.uri(up)));
    header
}

pub(super) fn at(mut header: Header, at: DateTime) -> Header {
    header.metadata.get_or_insert_default().at = Some(at);
    header
}

pub(super) fn span(mut header: Header, from: DateTime, until: Option<DateTime>) -> Header {
    let metadata = header.metadata.get_or_insert_default();
    (metadata.from, metadata.until) = (Some(from), until);
    header
}

pub(super) fn write(header: &Header, entries: &[Entry]) -> Vec<u8> {
    let mut writer =
        DocumentWriter::new(Vec::new(), header, WriteOptions::unchecked()).expect("bytes in memory");
    for entry in entries {
        writer.write_entry(entry).expect("a right entry");
    }
    writer.finish().expect("a right document")
}
