//! The archives of a set: snapshots that were superseded, lists and dumps that were closed (ResourceSync Archives).

mod documents;

use std::mem;

use resourcesync::{DateTime, Entry};

use super::{
    SetPolicy, SourcePolicy,
    place::{CHANGE_DUMP, CHANGE_LIST, RESOURCE_DUMP, RESOURCE_LIST, snapshot_name},
    writer::RenderedDocuments,
};
use crate::{
    Archives, Error,
    records::{
        ArchiveSummary, ArchivedChangeDump, ArchivedDocuments, ArchivedSnapshot, Moment,
        PublishedChangePackage, Span,
    },
};

/// The documents of a set that were superseded or closed. They are read only when they change.
pub(super) struct Archive<'a> {
    policy: &'a SourcePolicy,
    set: &'a SetPolicy,
    limits: Archives,
    held: &'a ArchiveSummary,
    archived: Option<ArchivedDocuments>,
    now: DateTime,
}

/// The documents of a set, besides its Resource List, that have archives.
#[derive(Clone, Copy)]
pub(super) struct Offers<'a> {
    /// The closed Change Lists that the index names, none if there is one plain list; `None` if the set has no Change
    /// List.
    pub(super) closed_lists: Option<&'a [Span]>,
    /// `true` if the set has a Resource Dump.
    pub(super) resource_dump: bool,
    /// `true` if the set has a Change Dump.
    pub(super) change_dump: bool,
}

/// A snapshot that was in place until this publication.
pub(super) struct SupersededSnapshot<'a> {
    pub(super) at: Moment,
    pub(super) completed: Moment,
    /// The document that represents it.
    pub(super) name: &'static str,
    /// The other documents and packages it consists of, by their names below `out`.
    pub(super) parts: &'a [String],
}

impl<'a> Archive<'a> {
    /// Opens the archives of a set; `None` if the operator does not want any.
    pub(super) fn open(
        policy: &'a SourcePolicy,
        set: &'a SetPolicy,
        held: &'a ArchiveSummary,
        now: DateTime,
    ) -> Option<Self> {
        policy.archives.map(|limits| Self { policy, set, limits, held, archived: None, now })
    }

    fn archived(&mut self, documents: &mut RenderedDocuments<'_>) -> Result<&mut ArchivedDocuments, Error> {
        if self.archived.is_none() {
            let mut archived = documents.archive(&self.set.name)?;
            if documents.repairs() {
                self.forget_missing(&mut archived, documents);
            }
            self.archived = Some(archived);
        }
        Ok(self.archived.get_or_insert_default())
    }

    /// Drops entries that an interrupted publication recorded but never put in place: an archive must not lead to
    /// them.
    fn forget_missing(&self, archived: &mut ArchivedDocuments, documents: &RenderedDocuments<'_>) {
        let facts = mem::take(&mut archived.documents);
        let is_there = |name: &String| documents.is_in_place(name, &facts);
        for snapshots in [&mut archived.resource_lists, &mut archived.resource_dumps] {
            snapshots.retain(|kept| {
                is_there(&self.set.place.name(&kept.document)) && kept.parts.iter().all(is_there)
            });
        }
        archived.change_lists.retain(|span| is_there(&self.set.place.name(&span.document())));
        archived.documents = facts;
    }

    /// Takes in a Resource List, at most one in each time of `snapshot_every`: a small one is renewed far more often.
    pub(super) fn resource_list(
        &mut self,
        list: &SupersededSnapshot<'_>,
        documents: &mut RenderedDocuments<'_>,
    ) -> Result<(), Error> {
        let every = self.policy.lists.snapshot_every;
        let due = self.held.last_list.is_none_or(|last| last.is_older_than(every, list.at.0));
        if due && let Some(kept) = self.preserve(list, documents)? {
            self.archived(documents)?.resource_lists.push(kept);
        }
        Ok(())
    }

    /// Takes in a Resource Dump.
    pub(super) fn resource_dump(
        &mut self,
        dump: &SupersededSnapshot<'_>,
        documents: &mut RenderedDocuments<'_>,
    ) -> Result<(), Error> {
        if let Some(kept) = self.preserve(dump, documents)? {
            self.archived(documents)?.resource_dumps.push(kept);
        }
        Ok(())
    }

    /// Takes in the Change Lists that leave the index.
    pub(super) fn change_lists(
        &mut self,
        leaving: Vec<Span>,
        documents: &mut RenderedDocuments<'_>,
    ) -> Result<(), Error> {
        if !leaving.is_empty() {
            self.archived(documents)?.change_lists.extend(leaving);
        }
        Ok(())
    }

    /// Takes in the packages that leave the Change Dump, as a closed dump.
    pub(super) fn change_packages(
        &mut self,
        packages: Vec<PublishedChangePackage>,
        documents: &mut RenderedDocuments<'_>,
    ) -> Result<(), Error> {
        if let (Some(first), Some(last)) = (packages.first(), packages.last()) {
            let (from, until) = (first.from, last.until);
            let dumps = &mut self.archived(documents)?.change_dumps;
            // An interrupted publication may have taken some of them in.
            dumps.retain(|dump| dump.until <= from);
            dumps.push(ArchivedChangeDump { packages, from, until });
        }
        Ok(())
    }

    /// Gives the document of a snapshot a name that stays; `None` if it or one of its parts is not in place.
    fn preserve(
        &self,
        snapshot: &SupersededSnapshot<'_>,
        documents: &mut RenderedDocuments<'_>,
    ) -> Result<Option<ArchivedSnapshot>, Error> {
        let name = self.set.place.name(snapshot.name);
        let document = snapshot_name(snapshot.name, snapshot.at.0);
        // An interrupted publication recorded the snapshot, and may not have put it in place.
        let is_known = !documents.repairs() || documents.stated_time(&name)? == Some(snapshot.at.0);
        let parts: Vec<_> = snapshot.parts.iter().filter(|part| **part != name).cloned().collect();
        if !is_known
            || !documents.are_in_place(&parts)
            || !documents.preserve(&name, &self.set.place.name(&document))?
        {
            return Ok(None);
        }
        Ok(Some(ArchivedSnapshot {
            at: snapshot.at,
            completed: snapshot.completed,
            since: Moment(self.now),
            document,
            parts,
        }))
    }

    /// Writes the archives of the offered capabilities, drops documents that are too old or too many, and keeps the
    /// rest. If nothing changes, the records of archived documents are not read.
    pub(super) fn render(
        mut self,
        offers: Offers<'_>,
        documents: &mut RenderedDocuments<'_>,
        offered: &mut Vec<Entry>,
    ) -> Result<ArchiveSummary, Error> {
        let shown = self.shown(offers);
        let is_as_it_was = self.archived.is_none() && shown == self.held.shown && !self.is_too_much();
        let brief = if is_as_it_was && documents.keep_all(&self.held.documents) {
            self.held.clone()
        } else {
            let archived = mem::take(self.archived(documents)?);
            self.write(archived, shown, offers, documents)?
        };
        offered.extend(brief.offered.iter().map(|of| self.offer(of)));
        Ok(brief)
    }

    fn is_too_much(&self) -> bool {
        let is_old = |oldest: Moment| oldest.is_older_than(self.limits.age, self.now);
        self.held.oldest.is_some_and(is_old) || self.held.most > self.limits.count
    }

    /// Returns the inputs of the archives besides the documents in them.
    fn shown(&self, offers: Offers<'_>) -> String {
        let numbers = offers
            .closed_lists
            .map(|closed| (closed.first().map(|it| it.number), closed.last().map(|it| it.number)));
        let dumps = (offers.resource_dump, offers.change_dump);
        serde_json::json!([numbers, dumps, self.set.resource_list, self.policy.lists.entries]).to_string()
    }

    fn write(
        &self,
        mut archived: ArchivedDocuments,
        shown: String,
        offers: Offers<'_>,
        documents: &mut RenderedDocuments<'_>,
    ) -> Result<ArchiveSummary, Error> {
        self.expire(&mut archived);
        let mut archives = Vec::new();
        if self.set.resource_list {
            archives.push((RESOURCE_LIST, self.snapshots(&archived.resource_lists)));
        }
        if offers.resource_dump || !archived.resource_dumps.is_empty() {
            archives.push((RESOURCE_DUMP, self.snapshots(&archived.resource_dumps)));
        }
        match offers.closed_lists {
            Some(closed) => {
                let lists = archived.change_lists.iter().chain(closed);
                archives.push((CHANGE_LIST, lists.map(|it| it.member(self.set)).collect()));
            }
            // Nothing leads to them, and lists that begin anew have the same names.
            None => archived.change_lists.clear(),
        }
        if offers.change_dump || !archived.change_dumps.is_empty() {
            let left = archived.change_dumps.iter();
            let entries = left.map(|dump| self.change_dump(dump, &archived, documents));
            archives.push((CHANGE_DUMP, entries.collect::<Result<Vec<_>, _>>()?));
        }
        let mut brief = ArchiveSummary {
            oldest: archived.oldest(),
            most: archived.most(),
            last_list: archived.resource_lists.last().map(|list| list.at),
            after: archived.change_lists.first().map(|list| list.after),
            shown,
            ..ArchiveSummary::default()
        };
        for (of, entries) in archives {
            brief.documents.extend(self.document(of, &entries, documents)?);
            brief.offered.push(of.to_owned());
        }
        self.take_over(archived, documents);
        Ok(brief)
    }

    fn expire(&self, archived: &mut ArchivedDocuments) {
        let (limits, now) = (self.limits, self.now);
        for snapshots in [&mut archived.resource_lists, &mut archived.resource_dumps] {
            snapshots.retain(|it| !it.since.is_older_than(limits.age, now));
            snapshots.drain(..snapshots.len().saturating_sub(limits.count));
        }
        let dumps = &mut archived.change_dumps;
        dumps.retain(|it| !it.until.is_older_than(limits.age, now));
        dumps.drain(..dumps.len().saturating_sub(limits.count));
        let lists = &mut archived.change_lists;
        lists.retain(|it| it.until.is_none_or(|until| !until.is_older_than(limits.age, now)));
        lists.drain(..lists.len().saturating_sub(limits.count));
    }
}
