//! The documents of one set, ordered by their dependencies.
//!
//! The interval of the Change Lists decides if the Resource List is due. The age of the Resource List and the
//! Resource Dump decides which closed Change Lists may be removed from the index; removed lists go to the archives.
//! The Capability List names the results.

use resourcesync::{Capability, Entry, Metadata};

use super::{
    archive::{Archive, Offers, SupersededSnapshot},
    capability_list, change_dump, change_list,
    place::{CHANGE_DUMP, CHANGE_LIST, RESOURCE_DUMP, RESOURCE_LIST},
    resource_dump, resource_list,
    set_input::SetInput,
    view::{Now, StagedDumps},
    writer::RenderedDocuments,
};
use crate::{
    Error,
    records::{
        ArchiveSummary, Moment, PublishedChangeDump, PublishedChangeLists, PublishedResourceDump,
        PublishedResourceList, PublishedSet,
    },
};

/// One set while its documents are written.
pub(super) struct SetPublication<'a, 'd> {
    input: SetInput<'a>,
    now: Now,
    documents: &'a mut RenderedDocuments<'d>,
    archive: Option<Archive<'a>>,
    /// The entries of the Capability List.
    offered: Vec<Entry>,
    next: PublishedSet,
}

impl<'a, 'd> SetPublication<'a, 'd> {
    /// Begins with a set whose archives kept this until now.
    pub(super) fn new(
        input: SetInput<'a>,
        now: Now,
        archived: &'a ArchiveSummary,
        documents: &'a mut RenderedDocuments<'d>,
    ) -> Result<Self, Error> {
        let archive = Archive::open(input.policy, input.set, archived, now.at);
        if archive.is_none() {
            documents.drop_archive(&input.set.name, archived)?;
        }
        let (offered, next) = (Vec::new(), PublishedSet::default());
        Ok(Self { input, now, documents, archive, offered, next })
    }

    /// Writes the documents of the set that differ from those in place. Returns the record of the next state.
    pub(super) fn render(
        mut self,
        held: &PublishedSet,
        former: Option<&PublishedResourceDump>,
        staged: StagedDumps,
    ) -> Result<PublishedSet, Error> {
        let SetInput { policy, set, view } = self.input;
        let lists = if set.change_list {
            Some(change_list::plan(policy, view, held.change_list.clone(), self.now)?)
        } else {
            None
        };
        let reaches = lists.as_ref().map(change_list::ChangeLists::reaches_back_to);
        if set.resource_list {
            self.resource_list(held.resource_list.as_ref(), reaches)?;
        }
        // Readers of the former dump continue with the Change Lists, which must reach back to it.
        let former = former.filter(|former| reaches.is_none_or(|reaches| reaches <= former.at));
        self.resource_dump(held.resource_dump.as_ref(), former, staged.resources)?;
        if let Some(lists) = lists {
            self.change_list(lists)?;
        }
        let reached = held.change_dump.as_ref().map(|dump| dump.until);
        self.change_dump(staged.changes.or_else(|| held.change_dump.clone()), reached)?;
        self.archives()?;
        self.offered.extend(set.channels.iter().cloned());
        capability_list::render(policy, set, &self.offered, self.documents)?;
        Ok(self.next)
    }

    fn resource_list(
        &mut self,
        held: Option<&PublishedResourceList>,
        reaches: Option<Moment>,
    ) -> Result<(), Error> {
        // One plain Change List may be too short for the changes of one publication. The Resource List has them, and
        // is equivalent to one made at the beginning of the Change List.
        let at = reaches.map_or(self.now.at, |reaches| reaches.0.max(self.now.at));
        let now = Now { at, ..self.now };
        let due = resource_list::is_due(self.input, held, reaches, now)?;
        let list = resource_list::render(self.input, held.cloned(), due, now, self.documents)?;
        if let (Some(archive), Some(held)) = (&mut self.archive, held.filter(|held| held.at != list.at)) {
            let (at, completed) = (held.at, held.completed);
            let superseded =
                SupersededSnapshot { at, completed, name: RESOURCE_LIST, parts: &held.documents };
            archive.resource_list(&superseded, self.documents)?;
        }
        self.next.resource_list = Some(list);
        self.offer(Capability::ResourceList, RESOURCE_LIST);
        Ok(())
    }

    fn resource_dump(
        &mut self,
        held: Option<&PublishedResourceDump>,
        former: Option<&PublishedResourceDump>,
        staged: Option<PublishedResourceDump>,
    ) -> Result<(), Error> {
        let SetInput { policy, set, .. } = self.input;
        let dump = staged.or_else(|| held.cloned());
        self.next.resource_dump = match resource_dump::render(policy, set, dump, self.documents)? {
            Some(dump) => Some(dump),
            // Those of an interrupted publication may be missing: the ones from before it serve until others are built.
            None => resource_dump::render(policy, set, former.cloned(), self.documents)?,
        };
        let held = held.filter(|held| self.next.resource_dump.as_ref() != Some(held));
        if let (Some(archive), Some(held)) = (&mut self.archive, held) {
            let parts = resource_dump::files(set, held, self.documents);
            let (at, completed) = (held.at, held.completed);
            let superseded = SupersededSnapshot { at, completed, name: RESOURCE_DUMP, parts: &parts };
            archive.resource_dump(&superseded, self.documents)?;
        }
        if self.next.resource_dump.is_some() {
            self.offer(Capability::ResourceDump, RESOURCE_DUMP);
        }
        Ok(())
    }

    /// Writes the Change Lists. Lists with changes since the Resource List or the Resource Dump in place stay in the index,
    /// because readers of these continue with them.
    fn change_list(&mut self, lists: change_list::ChangeLists) -> Result<(), Error> {
        let dumped = self.next.resource_dump.as_ref().map(|dump| dump.at);
        let needed_from =
            self.next.resource_list.as_ref().map(|list| list.at).into_iter().chain(dumped).min();
        let (lists, leaving) = change_list::render(self.input, lists, needed_from, self.documents)?;
        if let Some(archive) = &mut self.archive {
            archive.change_lists(leaving, self.documents)?;
        }
        self.next.change_list = Some(lists);
        self.offer(Capability::ChangeList, CHANGE_LIST);
        Ok(())
    }

    fn change_dump(
        &mut self,
        dump: Option<PublishedChangeDump>,
        reached: Option<Moment>,
    ) -> Result<(), Error> {
        let SetInput { policy, set, .. } = self.input;
        let rendered = change_dump::render(policy, set, dump, reached, self.documents)?;
        let Some((dump, leaving)) = rendered else { return Ok(()) };
        if let Some(archive) = &mut self.archive {
            archive.change_packages(leaving, self.documents)?;
        }
        self.next.change_dump = Some(dump);
        self.offer(Capability::ChangeDump, CHANGE_DUMP);
        Ok(())
    }

    fn archives(&mut self) -> Result<(), Error> {
        let Some(archive) = self.archive.take() else { return Ok(()) };
        let offers = Offers {
            closed_lists: self.next.change_list.as_ref().map(PublishedChangeLists::closed_members),
            resource_dump: self.next.resource_dump.is_some(),
            change_dump: self.next.change_dump.is_some(),
        };
        self.next.archive = archive.render(offers, self.documents, &mut self.offered)?;
        Ok(())
    }

    /// Adds an entry to the Capability List (CAP-6, CAP-7).
    fn offer(&mut self, capability: Capability, document: &str) {
        let mut entry = Entry::new(self.input.set.place.uri(document));
        entry.metadata = Metadata::with_capability(capability);
        self.offered.push(entry);
    }
}
