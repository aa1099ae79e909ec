use resourcesync::{Capability, DateTime, Entry, Form, Header, Link, Relation};

use super::{
    Policy, SetPolicy, Span, change_dump, change_list,
    facts::{ArchiveFacts, ArchivedChanges, ArchivedFact, ChangePackageFact, Moment},
    pages, resource_dump, resource_list,
    writer::Documents,
};
use crate::{Archives, Error, sink::Rank};

/// What is kept of a set after it was superseded or closed.
pub(super) struct Archive<'a> {
    policy: &'a Policy,
    set: &'a SetPolicy,
    limits: Archives,
    facts: ArchiveFacts,
    now: DateTime,
}

/// A snapshot that was in place until this publication.
pub(super) struct Superseded<'a> {
    pub(super) at: Moment,
    pub(super) completed: Moment,
    /// The document that stands for it.
    pub(super) name: &'static str,
    /// The other documents and packages it consists of, by their names below `out`.
    pub(super) parts: &'a [String],
}

impl<'a> Archive<'a> {
    /// The archives of a set; none where the operator does not want any.
    pub(super) fn open(
        policy: &'a Policy,
        set: &'a SetPolicy,
        held: ArchiveFacts,
        now: DateTime,
    ) -> Option<Self> {
        policy.archives.map(|limits| Self { policy, set, limits, facts: held, now })
    }

    /// Takes in a Resource List, at most one in each time of `snapshot_every`: a small one is renewed far more often.
    pub(super) fn resource_list(
        &mut self,
        list: &Superseded<'_>,
        documents: &mut Documents<'_>,
    ) -> Result<(), Error> {
        let every = self.policy.lists.snapshot_every;
        let due = self.facts.resource_lists.last().is_none_or(|last| last.at.is_older_than(every, list.at.0));
        if due && let Some(kept) = self.preserve(list, documents)? {
            self.facts.resource_lists.push(kept);
        }
        Ok(())
    }

    /// Takes in a Resource Dump.
    pub(super) fn resource_dump(
        &mut self,
        dump: &Superseded<'_>,
        documents: &mut Documents<'_>,
    ) -> Result<(), Error> {
        if let Some(kept) = self.preserve(dump, documents)? {
            self.facts.resource_dumps.push(kept);
        }
        Ok(())
    }

    /// Takes in the Change Lists that leave the index.
    pub(super) fn change_lists(&mut self, leaving: Vec<Span>) {
        self.facts.change_lists.extend(leaving);
    }

    /// Takes in the packages that leave the Change Dump, as a closed dump.
    pub(super) fn change_packages(&mut self, packages: Vec<ChangePackageFact>) {
        if let (Some(first), Some(last)) = (packages.first(), packages.last()) {
            let (from, until) = (first.from, last.until);
            self.facts.change_dumps.push(ArchivedChanges { packages, from, until });
        }
    }

    /// Gives the document of a snapshot a name that stays.
    fn preserve(
        &self,
        snapshot: &Superseded<'_>,
        documents: &mut Documents<'_>,
    ) -> Result<Option<ArchivedFact>, Error> {
        let name = self.set.place.name(snapshot.name);
        let document = snapshot_name(snapshot.name, snapshot.at.0);
        if !documents.preserve(&name, &self.set.place.name(&document))? {
            return Ok(None);
        }
        let parts = snapshot.parts.iter().filter(|part| **part != name).cloned().collect();
        Ok(Some(ArchivedFact {
            at: snapshot.at,
            completed: snapshot.completed,
            since: Moment(self.now),
            document,
            parts,
        }))
    }

    /// Writes the archives of what is offered, drops what is too old or too much, and keeps the documents of the rest.
    /// `dumps` says whether there are a Resource Dump and a Change Dump.
    pub(super) fn render(
        mut self,
        closed: Option<&[Span]>,
        dumps: (bool, bool),
        documents: &mut Documents<'_>,
        offered: &mut Vec<Entry>,
    ) -> Result<ArchiveFacts, Error> {
        self.expire();
        if self.set.resource_list {
            let entries = self.snapshots(&self.facts.resource_lists, documents);
            let capability = Capability::ResourceListArchive;
            offered.push(self.document(capability, resource_list::NAME, &entries, documents)?);
        }
        if dumps.0 || !self.facts.resource_dumps.is_empty() {
            let entries = self.snapshots(&self.facts.resource_dumps, documents);
            let capability = Capability::ResourceDumpArchive;
            offered.push(self.document(capability, resource_dump::NAME, &entries, documents)?);
        }
        if let Some(closed) = closed {
            let lists = self.facts.change_lists.iter();
            lists
                .clone()
                .for_each(|span| documents.retain(&self.set.place.name(&change_list::list_name(span))));
            let entries: Vec<_> =
                lists.chain(closed).map(|span| change_list::member(self.set, span)).collect();
            let capability = Capability::ChangeListArchive;
            offered.push(self.document(capability, change_list::NAME, &entries, documents)?);
        }
        if dumps.1 || !self.facts.change_dumps.is_empty() {
            let left = self.facts.change_dumps.iter();
            let entries =
                left.map(|dump| self.change_dump(dump, documents)).collect::<Result<Vec<_>, _>>()?;
            let capability = Capability::ChangeDumpArchive;
            offered.push(self.document(capability, change_dump::NAME, &entries, documents)?);
        }
        Ok(self.facts)
    }

    /// Writes a closed Change Dump; returns its entry in the archive (ARC-10).
    fn change_dump(&self, dump: &ArchivedChanges, documents: &mut Documents<'_>) -> Result<Entry, Error> {
        let name = snapshot_name(change_dump::NAME, dump.until.0);
        let mut header = Header::new(Form::List, Capability::ChangeDump);
        if let Some(metadata) = &mut header.metadata {
            metadata.from = Some(dump.from.0);
            metadata.until = Some(dump.until.0);
        }
        header.links.push(Link::new(Relation::Up, self.set.place.capability_list()));
        let files = dump.packages.iter().flat_map(|package| change_dump::files(self.set, package));
        files.for_each(|file| documents.retain(&file));
        let entries: Vec<_> = dump.packages.iter().map(|it| change_dump::entry(self.set, it)).collect();
        documents.small(&self.set.place.name(&name), Rank::Part, &header, &self.policy.write, &entries)?;
        let mut entry = Entry::new(self.set.place.uri(&name));
        entry.metadata.from = Some(dump.from.0);
        entry.metadata.until = Some(dump.until.0);
        Ok(entry)
    }

    fn expire(&mut self) {
        let (limits, now) = (self.limits, self.now);
        for snapshots in [&mut self.facts.resource_lists, &mut self.facts.resource_dumps] {
            snapshots.retain(|it| !it.since.is_older_than(limits.age, now));
            snapshots.drain(..snapshots.len().saturating_sub(limits.count));
        }
        let dumps = &mut self.facts.change_dumps;
        dumps.retain(|it| !it.until.is_older_than(limits.age, now));
        dumps.drain(..dumps.len().saturating_sub(limits.count));
        let lists = &mut self.facts.change_lists;
        lists.retain(|it| it.until.is_none_or(|until| !until.is_older_than(limits.age, now)));
        lists.drain(..lists.len().saturating_sub(limits.count));
    }

    /// The entries of archived snapshots (ARC-7, ARC-8), whose documents stay.
    fn snapshots(&self, snapshots: &[ArchivedFact], documents: &mut Documents<'_>) -> Vec<Entry> {
        let entry = |snapshot: &ArchivedFact| {
            documents.retain(&self.set.place.name(&snapshot.document));
            snapshot.parts.iter().for_each(|part| documents.retain(part));
            let mut entry = Entry::new(self.set.place.uri(&snapshot.document));
            entry.metadata.at = Some(snapshot.at.0);
            entry.metadata.completed = Some(snapshot.completed.0);
            entry
        };
        snapshots.iter().map(entry).collect()
    }

    /// Writes an archive (ARC-5, ARC-6), or an index over parts of it (ARC-12); returns its Capability List entry.
    fn document(
        &self,
        capability: Capability,
        of: &str,
        entries: &[Entry],
        documents: &mut Documents<'_>,
    ) -> Result<Entry, Error> {
        let name = archive_name(of);
        let header = |form| {
            let mut header = Header::new(form, capability.clone());
            header.links.push(Link::new(Relation::Up, self.set.place.capability_list()));
            header
        };
        pages::render(
            self.policy,
            self.set,
            &name,
            &header,
            |part| Entry::new(self.set.place.uri(part)),
            entries,
            documents,
        )?;
        let mut entry = Entry::new(self.set.place.uri(&name));
        entry.metadata.capability = Some(capability.clone());
        Ok(entry)
    }
}

/// The link from a document to its archive (ARC-4).
pub(super) fn link(policy: &Policy, set: &SetPolicy, of: &str) -> Option<Link> {
    policy.archives.map(|_| Link::new(Relation::Archives, set.place.uri(&archive_name(of))))
}

fn archive_name(of: &str) -> String {
    format!("{}-archive.xml", of.trim_end_matches(".xml"))
}

fn snapshot_name(of: &str, at: DateTime) -> String {
    format!("{}-{}.xml", of.trim_end_matches(".xml"), resource_list::stamp(at))
}
