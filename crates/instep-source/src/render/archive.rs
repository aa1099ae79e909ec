use std::mem;

use resourcesync::{Capability, DateTime, Entry, Form, Header, Link, Relation};

use super::{
    Policy, SetPolicy, Span, change_dump, change_list,
    facts::{ArchiveBrief, ArchiveFacts, ArchivedChanges, ArchivedFact, ChangePackageFact, Moment},
    pages, resource_dump, resource_list,
    writer::Documents,
};
use crate::{Archives, Error, sink::Rank};

/// What is kept of a set after it was superseded or closed. It is read only when it changes.
pub(super) struct Archive<'a> {
    policy: &'a Policy,
    set: &'a SetPolicy,
    limits: Archives,
    held: &'a ArchiveBrief,
    facts: Option<ArchiveFacts>,
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
        held: &'a ArchiveBrief,
        now: DateTime,
    ) -> Option<Self> {
        policy.archives.map(|limits| Self { policy, set, limits, held, facts: None, now })
    }

    fn facts(&mut self, documents: &mut Documents<'_>) -> Result<&mut ArchiveFacts, Error> {
        if self.facts.is_none() {
            self.facts = Some(documents.archive(&self.set.name)?);
        }
        Ok(self.facts.get_or_insert_default())
    }

    /// Takes in a Resource List, at most one in each time of `snapshot_every`: a small one is renewed far more often.
    pub(super) fn resource_list(
        &mut self,
        list: &Superseded<'_>,
        documents: &mut Documents<'_>,
    ) -> Result<(), Error> {
        let every = self.policy.lists.snapshot_every;
        let due = self.held.last_list.is_none_or(|last| last.is_older_than(every, list.at.0));
        if due && let Some(kept) = self.preserve(list, documents)? {
            self.facts(documents)?.resource_lists.push(kept);
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
            self.facts(documents)?.resource_dumps.push(kept);
        }
        Ok(())
    }

    /// Takes in the Change Lists that leave the index.
    pub(super) fn change_lists(
        &mut self,
        leaving: Vec<Span>,
        documents: &mut Documents<'_>,
    ) -> Result<(), Error> {
        if !leaving.is_empty() {
            self.facts(documents)?.change_lists.extend(leaving);
        }
        Ok(())
    }

    /// Takes in the packages that leave the Change Dump, as a closed dump.
    pub(super) fn change_packages(
        &mut self,
        packages: Vec<ChangePackageFact>,
        documents: &mut Documents<'_>,
    ) -> Result<(), Error> {
        if let (Some(first), Some(last)) = (packages.first(), packages.last()) {
            let (from, until) = (first.from, last.until);
            self.facts(documents)?.change_dumps.push(ArchivedChanges { packages, from, until });
        }
        Ok(())
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
    /// `dumps` says whether there are a Resource Dump and a Change Dump. Where all stays as it is, nothing of what they
    /// keep is looked at.
    pub(super) fn render(
        mut self,
        closed: Option<&[Span]>,
        dumps: (bool, bool),
        documents: &mut Documents<'_>,
        offered: &mut Vec<Entry>,
    ) -> Result<ArchiveBrief, Error> {
        let shown = self.shown(closed, dumps);
        let is_as_it_was = self.facts.is_none() && shown == self.held.shown && !self.is_too_much();
        let brief = match is_as_it_was && documents.keep_all(&self.held.documents) {
            true => self.held.clone(),
            false => {
                let facts = mem::take(self.facts(documents)?);
                self.write(facts, shown, closed, dumps, documents)?
            }
        };
        offered.extend(brief.offered.iter().map(|of| self.offer(of)));
        Ok(brief)
    }

    fn is_too_much(&self) -> bool {
        let is_old = |oldest: Moment| oldest.is_older_than(self.limits.age, self.now);
        self.held.oldest.is_some_and(is_old) || self.held.most > self.limits.count
    }

    /// What the archives depend on besides what they keep.
    fn shown(&self, closed: Option<&[Span]>, dumps: (bool, bool)) -> String {
        let numbers =
            closed.map(|closed| (closed.first().map(|it| it.number), closed.last().map(|it| it.number)));
        format!("{numbers:?} {dumps:?} {} {}", self.set.resource_list, self.policy.lists.entries)
    }

    fn write(
        &self,
        mut facts: ArchiveFacts,
        shown: String,
        closed: Option<&[Span]>,
        dumps: (bool, bool),
        documents: &mut Documents<'_>,
    ) -> Result<ArchiveBrief, Error> {
        self.expire(&mut facts);
        let mut archives = Vec::new();
        if self.set.resource_list {
            archives.push((resource_list::NAME, self.snapshots(&facts.resource_lists)));
        }
        if dumps.0 || !facts.resource_dumps.is_empty() {
            archives.push((resource_dump::NAME, self.snapshots(&facts.resource_dumps)));
        }
        if let Some(closed) = closed {
            let lists = facts.change_lists.iter().chain(closed);
            archives.push((change_list::NAME, lists.map(|it| change_list::member(self.set, it)).collect()));
        }
        if dumps.1 || !facts.change_dumps.is_empty() {
            let left = facts.change_dumps.iter();
            let entries = left.map(|dump| self.change_dump(dump, &facts, documents));
            archives.push((change_dump::NAME, entries.collect::<Result<Vec<_>, _>>()?));
        }
        let mut brief = ArchiveBrief {
            oldest: facts.oldest(),
            most: facts.most(),
            last_list: facts.resource_lists.last().map(|list| list.at),
            after: facts.change_lists.first().map(|list| list.after),
            shown,
            ..ArchiveBrief::default()
        };
        for (of, entries) in archives {
            brief.documents.extend(self.document(of, &entries, documents)?);
            brief.offered.push(of.to_owned());
        }
        self.take_over(facts, documents);
        Ok(brief)
    }

    /// Keeps the documents of what the archives keep, and no others.
    fn take_over(&self, mut facts: ArchiveFacts, documents: &mut Documents<'_>) {
        let name = |document: &String| self.set.place.name(document);
        let snapshots = facts.resource_lists.iter().chain(&facts.resource_dumps);
        let snapshots = snapshots.flat_map(|it| it.parts.iter().cloned().chain([name(&it.document)]));
        let lists = facts.change_lists.iter().map(|span| name(&change_list::list_name(span)));
        let packages = facts.change_dumps.iter().flat_map(|dump| &dump.packages);
        let packages = packages.flat_map(|package| change_dump::files(self.set, package));
        let dumps = facts.change_dumps.iter().map(|dump| name(&change_dump_name(dump)));
        let names = snapshots.chain(lists).chain(packages).chain(dumps);
        let kept = names.filter_map(|name| Some((documents.take_over(&name, &facts)?, name)));
        let kept = kept.map(|(fact, name)| (name, fact)).collect();
        let before: Vec<_> = mem::replace(&mut facts.documents, kept).into_keys().collect();
        documents.keep_archive(&self.set.name, &before, facts);
    }

    /// Writes a closed Change Dump; returns its entry in the archive (ARC-10).
    fn change_dump(
        &self,
        dump: &ArchivedChanges,
        kept: &ArchiveFacts,
        documents: &mut Documents<'_>,
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
        let entries: Vec<_> = dump.packages.iter().map(|it| change_dump::entry(self.set, it)).collect();
        documents.small(&name, Rank::Part, &header, &self.policy.write, &entries)?;
        Ok(entry)
    }

    fn expire(&self, facts: &mut ArchiveFacts) {
        let (limits, now) = (self.limits, self.now);
        for snapshots in [&mut facts.resource_lists, &mut facts.resource_dumps] {
            snapshots.retain(|it| !it.since.is_older_than(limits.age, now));
            snapshots.drain(..snapshots.len().saturating_sub(limits.count));
        }
        let dumps = &mut facts.change_dumps;
        dumps.retain(|it| !it.until.is_older_than(limits.age, now));
        dumps.drain(..dumps.len().saturating_sub(limits.count));
        let lists = &mut facts.change_lists;
        lists.retain(|it| it.until.is_none_or(|until| !until.is_older_than(limits.age, now)));
        lists.drain(..lists.len().saturating_sub(limits.count));
    }

    /// The entries of archived snapshots (ARC-7, ARC-8).
    fn snapshots(&self, snapshots: &[ArchivedFact]) -> Vec<Entry> {
        let entry = |snapshot: &ArchivedFact| {
            let mut entry = Entry::new(self.set.place.uri(&snapshot.document));
            entry.metadata.at = Some(snapshot.at.0);
            entry.metadata.completed = Some(snapshot.completed.0);
            entry
        };
        snapshots.iter().map(entry).collect()
    }

    /// Writes an archive (ARC-5, ARC-6), or an index over parts of it (ARC-12); returns the names of its documents.
    fn document(
        &self,
        of: &str,
        entries: &[Entry],
        documents: &mut Documents<'_>,
    ) -> Result<Vec<String>, Error> {
        let header = |form| {
            let mut header = Header::new(form, archive_of(of));
            header.links.push(Link::new(Relation::Up, self.set.place.capability_list()));
            header
        };
        let part = |part: &str| Entry::new(self.set.place.uri(part));
        pages::render(self.policy, self.set, &archive_name(of), &header, part, entries, documents)
    }

    /// The entry of an archive in the Capability List.
    fn offer(&self, of: &str) -> Entry {
        let mut entry = Entry::new(self.set.place.uri(&archive_name(of)));
        entry.metadata.capability = Some(archive_of(of));
        entry
    }
}

/// The capability of the archive of a document.
fn archive_of(of: &str) -> Capability {
    match of {
        resource_list::NAME => Capability::ResourceListArchive,
        resource_dump::NAME => Capability::ResourceDumpArchive,
        change_dump::NAME => Capability::ChangeDumpArchive,
        _ => Capability::ChangeListArchive,
    }
}

fn change_dump_name(dump: &ArchivedChanges) -> String {
    snapshot_name(change_dump::NAME, dump.until.0)
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
