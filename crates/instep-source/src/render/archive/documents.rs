//! The documents of the archives of a set, their entries, and the files they keep in place.

use std::mem;

use resourcesync::{Capability, Entry, Form, Header, Link, Relation};

use super::Archive;
use crate::{
    Error,
    records::{ArchivedChangeDump, ArchivedDocuments, ArchivedSnapshot},
    render::{
        packages,
        pages::PagedDocument,
        place::{CHANGE_DUMP, RESOURCE_DUMP, RESOURCE_LIST, archive_name, snapshot_name},
        writer::RenderedDocuments,
    },
    sink::Rank,
};

impl Archive<'_> {
    /// Keeps exactly the documents that the archives need.
    pub(super) fn take_over(&self, mut archived: ArchivedDocuments, documents: &mut RenderedDocuments<'_>) {
        let name = |document: &String| self.set.place.name(document);
        let snapshots = archived.resource_lists.iter().chain(&archived.resource_dumps);
        let snapshots = snapshots.flat_map(|it| it.parts.iter().cloned().chain([name(&it.document)]));
        let lists = archived.change_lists.iter().map(|span| name(&span.document()));
        let members = archived.change_dumps.iter().flat_map(|dump| &dump.packages);
        let members = members.flat_map(|package| packages::change_files(self.set, package));
        let dumps = archived.change_dumps.iter().map(|dump| name(&change_dump_name(dump)));
        let names = snapshots.chain(lists).chain(members).chain(dumps);
        let kept = names.filter_map(|name| Some((documents.take_over(&name, &archived)?, name)));
        let kept = kept.map(|(fact, name)| (name, fact)).collect();
        let before: Vec<_> = mem::replace(&mut archived.documents, kept).into_keys().collect();
        documents.keep_archive(&self.set.name, &before, archived);
    }

    /// Writes a closed Change Dump; returns its entry in the archive (ARC-10).
    pub(super) fn change_dump(
        &self,
        dump: &ArchivedChangeDump,
        kept: &ArchivedDocuments,
        documents: &mut RenderedDocuments<'_>,
    ) -> Result<Entry, Error> {
        let document = change_dump_name(dump);
        let mut entry = Entry::new(self.set.place.uri(&document));
        entry.metadata.from = Some(dump.from.0);
        entry.metadata.until = Some(dump.until.0);
        let name = self.set.place.name(&document);
        if documents.is_kept(&name, kept) {
            return Ok(entry);
        }
        let mut header = Header::new(Form::List, Capability::ChangeDump);
        if let Some(metadata) = &mut header.metadata {
            metadata.from = Some(dump.from.0);
            metadata.until = Some(dump.until.0);
        }
        header.links.push(Link::new(Relation::Up, self.set.place.capability_list()));
        let entries: Vec<_> = dump.packages.iter().map(|it| packages::change_entry(self.set, it)).collect();
        documents.small(&name, Rank::Part, &header, &self.policy.write, &entries)?;
        Ok(entry)
    }

    /// Returns the entries of archived snapshots (ARC-7, ARC-8).
    pub(super) fn snapshots(&self, snapshots: &[ArchivedSnapshot]) -> Vec<Entry> {
        let entry = |snapshot: &ArchivedSnapshot| {
            let mut entry = Entry::new(self.set.place.uri(&snapshot.document));
            entry.metadata.at = Some(snapshot.at.0);
            entry.metadata.completed = Some(snapshot.completed.0);
            entry
        };
        snapshots.iter().map(entry).collect()
    }

    /// Writes an archive (ARC-5, ARC-6), or an index over parts of it (ARC-12); returns the names of its documents.
    pub(super) fn document(
        &self,
        of: &str,
        entries: &[Entry],
        documents: &mut RenderedDocuments<'_>,
    ) -> Result<Vec<String>, Error> {
        let header = |form| {
            let mut header = Header::new(form, archive_of(of));
            header.links.push(Link::new(Relation::Up, self.set.place.capability_list()));
            header
        };
        let name = archive_name(of);
        let member = |part: &str| Entry::new(self.set.place.uri(part));
        let (policy, set) = (self.policy, self.set);
        PagedDocument { policy, set, name: &name, snapshot: None, header: &header, member: &member }
            .render(entries, documents)
    }

    /// Returns the entry of an archive in the Capability List.
    pub(super) fn offer(&self, of: &str) -> Entry {
        let mut entry = Entry::new(self.set.place.uri(&archive_name(of)));
        entry.metadata.capability = Some(archive_of(of));
        entry
    }
}

/// Returns the capability of the archive of a document.
fn archive_of(of: &str) -> Capability {
    match of {
        RESOURCE_LIST => Capability::ResourceListArchive,
        RESOURCE_DUMP => Capability::ResourceDumpArchive,
        CHANGE_DUMP => Capability::ChangeDumpArchive,
        _ => Capability::ChangeListArchive,
    }
}

fn change_dump_name(dump: &ArchivedChangeDump) -> String {
    snapshot_name(CHANGE_DUMP, dump.until.0)
}
