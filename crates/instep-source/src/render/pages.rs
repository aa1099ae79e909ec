//! Documents of entries that are at hand, in parts if there are too many.

use resourcesync::{DateTime, Entry, Form, Header, Link, Relation};

use super::{
    SetPolicy, SourcePolicy,
    measure::{EntryMeter, room_for_entries},
    place::{part_name, snapshot_name},
    writer::RenderedDocuments,
};
use crate::{Error, sink::Rank};

/// A document that may need parts.
pub(super) struct PagedDocument<'a> {
    pub(super) policy: &'a SourcePolicy,
    pub(super) set: &'a SetPolicy,
    /// Its name, or that of the index over its parts.
    pub(super) name: &'a str,
    /// The time of the snapshot that it is. Its parts, and with archives the index over them, have names with it, which
    /// no other snapshot has.
    pub(super) snapshot: Option<DateTime>,
    pub(super) header: &'a dyn Fn(Form) -> Header,
    /// Returns the entry of a part in the index.
    pub(super) member: &'a dyn Fn(&str) -> Entry,
}

impl PagedDocument<'_> {
    /// Writes it in one piece, or in parts and an index if there are more entries or bytes than a document may have
    /// (GEN-12). Returns the names of the documents.
    pub(super) fn render(
        &self,
        entries: &[Entry],
        documents: &mut RenderedDocuments<'_>,
    ) -> Result<Vec<String>, Error> {
        let (set, options) = (self.set, &self.policy.write);
        let parts = self.divide(entries)?;
        let whole = set.place.name(self.name);
        if parts.len() == 1 {
            documents.small(&whole, Rank::Index, &(self.header)(Form::List), options, entries)?;
            return Ok(vec![whole]);
        }
        // The index that is archived with the parts, because the other name will be that of an index over other
        // parts.
        let lasting = self.snapshot.filter(|_| self.policy.archives.is_some());
        let lasting = lasting.map(|at| snapshot_name(self.name, at));
        let index = lasting.as_deref().unwrap_or(self.name);
        let mut part_header = (self.header)(Form::List);
        part_header.links.push(Link::new(Relation::Index, set.place.uri(index)));
        let (mut members, mut names) = (Vec::new(), Vec::new());
        for (number, entries) in (1..).zip(parts) {
            let part = self.part(number);
            names.push(set.place.name(&part));
            documents.small(&set.place.name(&part), Rank::Part, &part_header, options, entries)?;
            members.push((self.member)(&part));
        }
        for index in lasting.as_deref().into_iter().chain([self.name]) {
            let name = set.place.name(index);
            documents.small(&name, Rank::Index, &(self.header)(Form::Index), options, &members)?;
            names.push(name);
        }
        Ok(names)
    }

    /// Divides the entries into those of each part; a part has one entry at least, however large that is.
    fn divide<'e>(&self, entries: &'e [Entry]) -> Result<Vec<&'e [Entry]>, Error> {
        let lists = &self.policy.lists;
        let most = usize::try_from(lists.entries).unwrap_or(usize::MAX);
        let room = room_for_entries(lists);
        let mut meter = EntryMeter::new(&self.policy.write)?;
        let (mut parts, mut first, mut bytes) = (Vec::new(), 0, 0);
        for (index, entry) in entries.iter().enumerate() {
            let added = meter.bytes(entry);
            if index > first && (index - first == most || bytes + added > room) {
                parts.push(&entries[first..index]);
                (first, bytes) = (index, 0);
            }
            bytes += added;
        }
        parts.push(&entries[first..]);
        Ok(parts)
    }

    fn part(&self, number: usize) -> String {
        match self.snapshot {
            Some(at) => snapshot_part(self.name, at, number),
            None => format!("{}-{number:04}.xml", stem(self.name)),
        }
    }
}

/// Returns the name of a part of the document of a snapshot.
pub(super) fn snapshot_part(name: &str, at: DateTime, number: usize) -> String {
    part_name(&format!("{}-part", stem(name)), at, number, "xml")
}

fn stem(name: &str) -> &str {
    name.trim_end_matches(".xml")
}
