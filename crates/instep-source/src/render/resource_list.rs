//! The Resource List of a set (§10), and the plain Sitemap beside it.
//!
//! The parts of a list are named by their snapshot and never change. A list that fits one document is renewed whenever
//! something changed; a larger one, or that of a server, when it is old or much has changed. Otherwise only the Change
//! List grows. The published Change Lists reach back at least to the `at` of the published Resource List.

use std::{iter::Peekable, time::Duration};

use resourcesync::{Capability, Entry, Form, Header, Link, Relation};

use super::{
    SetPolicy, SourcePolicy,
    entry::resource_entry,
    place::{RESOURCE_LIST, SITEMAP, part_name, snapshot_name},
    set_input::SetInput,
    view::{Now, SetResources, SetView},
    writer::{DocumentPage, RenderedDocuments},
};
use crate::{
    Error,
    records::{Moment, PublishedResourceList},
    sink::Rank,
};

/// The Resource List is renewed if more than one resource in this number changed since its snapshot: reading that
/// many changes costs a new reader more than reading a new list.
const RENEWED_AT: u64 = 10;

/// The least time between two renewals for that reason, however fast resources change.
const RENEWED_EVERY: Duration = Duration::from_secs(10);

/// Returns `true` if a new snapshot must be published. Without changes there is none, unless the operator requests
/// it.
pub(super) fn is_due(
    input: SetInput<'_>,
    held: Option<&PublishedResourceList>,
    changes_reach_back_to: Option<Moment>,
    now: Now,
) -> Result<bool, Error> {
    let SetInput { policy, set, view } = input;
    let Some(held) = held else { return Ok(true) };
    let lists = &policy.lists;
    if lists.snapshot
        || policy.sitemap_twin == held.twin.is_empty()
        || set.rules != held.rules
        || changes_reach_back_to.is_some_and(|reach| reach > held.at)
        || !has_own_index(policy, set, held)
    {
        return Ok(true);
    }
    if held.revision == now.revision {
        return Ok(false);
    }
    let fits_one = held.documents.len() == 1 && view.totals()?.resources <= lists.entries;
    let is_old = (fits_one && held.at.is_older_than(lists.small_snapshot_every, now.at))
        || held.at.is_older_than(lists.snapshot_every, now.at);
    let most = now.sequence.saturating_sub(held.sequence);
    // Counting reads each change, so it is done only if the result can matter.
    let is_young = !held.at.is_older_than(lists.small_snapshot_every.min(RENEWED_EVERY), now.at);
    if !is_old && (is_young || most * RENEWED_AT <= held.resources) {
        return Ok(false);
    }
    let changes = view.count_changes(held.sequence)?;
    // The revision also counts changes of links and media types, which are not changes of a resource.
    let described = now.revision - held.revision > most;
    Ok((is_old && (changes > 0 || described)) || changes * RENEWED_AT > held.resources)
}

/// Returns `false` if the parts of a list name no index that is archived with them.
fn has_own_index(policy: &SourcePolicy, set: &SetPolicy, held: &PublishedResourceList) -> bool {
    let own_index = || set.place.name(&snapshot_name(RESOURCE_LIST, held.at.0));
    held.documents.len() == 1 || policy.archives.is_none() || held.documents.contains(&own_index())
}

/// Writes a new snapshot if one is due or a document of the old one is missing.
pub(super) fn render(
    input: SetInput<'_>,
    held: Option<PublishedResourceList>,
    due: bool,
    now: Now,
    documents: &mut RenderedDocuments<'_>,
) -> Result<PublishedResourceList, Error> {
    let in_place = |held: &PublishedResourceList, documents: &mut RenderedDocuments<'_>| {
        documents.keep_all(&held.documents) && documents.keep_all(&held.twin)
    };
    if let Some(held) = held.filter(|held| !due && in_place(held, documents)) {
        return Ok(held);
    }
    let SetInput { policy, set, view } = input;
    let write = |form, documents: &mut RenderedDocuments<'_>| -> Result<Vec<String>, Error> {
        SnapshotLists { policy, set, view, now, form }.render(documents)
    };
    Ok(PublishedResourceList {
        at: Moment(now.at),
        completed: Moment(now.completed),
        sequence: now.sequence,
        revision: now.revision,
        resources: view.totals()?.resources,
        rules: set.rules.clone(),
        documents: write(SnapshotForm::ResourceList, documents)?,
        twin: if policy.sitemap_twin { write(SnapshotForm::Sitemap, documents)? } else { Vec::new() },
    })
}

/// The form in which a snapshot is written.
#[derive(Clone, Copy, PartialEq)]
enum SnapshotForm {
    ResourceList,
    /// A Sitemap without the elements of ResourceSync.
    Sitemap,
}

impl SnapshotForm {
    fn name(self) -> &'static str {
        match self {
            Self::ResourceList => RESOURCE_LIST,
            Self::Sitemap => SITEMAP,
        }
    }
}

struct SnapshotLists<'a> {
    policy: &'a SourcePolicy,
    set: &'a SetPolicy,
    view: &'a dyn SetView,
    now: Now,
    form: SnapshotForm,
}

impl SnapshotLists<'_> {
    /// Writes one document, or parts and the index over them. Returns their names.
    fn render(&self, documents: &mut RenderedDocuments<'_>) -> Result<Vec<String>, Error> {
        if self.view.totals()?.resources <= self.policy.lists.entries
            && let Some(name) = self.single(documents)?
        {
            return Ok(vec![name]);
        }
        self.parts(documents)
    }

    /// Writes the complete set into one document; returns `None` if it does not fit.
    fn single(&self, documents: &mut RenderedDocuments<'_>) -> Result<Option<String>, Error> {
        let name = self.set.place.name(self.form.name());
        let mut complete = false;
        documents.stream(&name, Rank::Part, &self.header(Form::List), &self.policy.write, &mut |page| {
            self.view.with_resources(&mut |resources| {
                let mut resources = resources.peekable();
                self.fill(page, &mut resources)?;
                complete = resources.peek().is_none();
                Ok(())
            })
        })?;
        Ok(complete.then_some(name))
    }

    /// Writes the set in parts, and the index over them.
    ///
    /// With archives the index has a second name from the beginning, under which it is archived. The parts, which
    /// never change, name that one, because `resourcelist.xml` will be the index of other parts later.
    fn parts(&self, documents: &mut RenderedDocuments<'_>) -> Result<Vec<String>, Error> {
        let mut header = self.header(Form::List);
        let is_list = self.form == SnapshotForm::ResourceList;
        let lasting =
            self.policy.archives.filter(|_| is_list).map(|_| snapshot_name(RESOURCE_LIST, self.now.at));
        if is_list {
            let index = lasting.as_deref().unwrap_or(RESOURCE_LIST);
            header.links.push(Link::new(Relation::Index, self.set.place.uri(index)));
        }
        let (mut names, mut entries) = (Vec::new(), Vec::new());
        self.view.with_resources(&mut |resources| {
            let mut resources = resources.peekable();
            while resources.peek().is_some() {
                let stem = self.form.name().trim_end_matches(".xml");
                let part = part_name(stem, self.now.at, names.len() + 1, "xml");
                let name = self.set.place.name(&part);
                documents.stream(&name, Rank::Part, &header, &self.policy.write, &mut |page| {
                    self.fill(page, &mut resources)
                })?;
                entries.push(self.member(&part));
                names.push(name);
            }
            Ok(())
        })?;
        for index in lasting.as_deref().into_iter().chain([self.form.name()]) {
            let name = self.set.place.name(index);
            documents.small(&name, Rank::Index, &self.header(Form::Index), &self.policy.write, &entries)?;
            names.push(name);
        }
        Ok(names)
    }

    /// Writes as many resources as fit into the document.
    fn fill(
        &self,
        page: &mut DocumentPage<'_>,
        resources: &mut Peekable<SetResources<'_>>,
    ) -> Result<(), Error> {
        let lists = &self.policy.lists;
        // Room for the last entry and the end of the document.
        let bytes = lists.bytes - lists.bytes / 64;
        while page.entries() < lists.entries && (page.bytes() < bytes || page.entries() == 0) {
            let Some(resource) = resources.next() else { break };
            let mut entry = resource_entry(resource?);
            if self.form == SnapshotForm::Sitemap {
                entry.metadata.clear();
                entry.links.clear();
            }
            page.write(&entry)?;
        }
        Ok(())
    }

    fn member(&self, part: &str) -> Entry {
        let mut entry = Entry::new(self.set.place.uri(part));
        if self.form == SnapshotForm::ResourceList {
            entry.metadata.at = Some(self.now.at);
            entry.metadata.completed = Some(self.now.completed);
        }
        entry
    }

    fn header(&self, form: Form) -> Header {
        let mut header = Header::new(form, Capability::ResourceList);
        if self.form == SnapshotForm::Sitemap {
            header.metadata = None;
            return header;
        }
        if let Some(metadata) = &mut header.metadata {
            metadata.at = Some(self.now.at);
            metadata.completed = Some(self.now.completed);
        }
        header.links.push(Link::new(Relation::Up, self.set.place.capability_list()));
        header.links.extend(self.policy.archive_link(self.set, RESOURCE_LIST));
        header
    }
}
