use std::{iter::Peekable, time::Duration};

use resourcesync::{Capability, DateTime, Entry, Form, Header, Link, Relation};

use super::{
    Policy, SetPolicy, archive,
    entry::resource_entry,
    facts::{Moment, ResourceListFacts},
    story::{Now, SetView},
    writer::{Documents, Page},
};
use crate::{Error, catalogue::Resource, sink::Rank};

pub(super) const NAME: &str = "resourcelist.xml";

/// The plain Sitemap beside it.
pub(super) const SITEMAP: &str = "sitemap.xml";

/// A list that only grew its Change List is renewed when more than one resource in so many changed.
const RENEWED_AT: u64 = 10;

/// Where a Source stays open it is not renewed for that more often, however fast everything changes.
const RENEWED_EVERY: Duration = Duration::from_secs(10);

/// Whether a new snapshot has to be published. Nothing changed: none, unless the operator asks for it.
pub(super) fn is_due(
    policy: &Policy,
    set: &SetPolicy,
    view: &dyn SetView,
    held: Option<&ResourceListFacts>,
    changes_reach_back_to: Option<Moment>,
    now: Now,
) -> Result<bool, Error> {
    let Some(held) = held else { return Ok(true) };
    let lists = &policy.lists;
    if lists.snapshot
        || policy.sitemap_twin == held.twin.is_empty()
        || set.rules != held.rules
        || changes_reach_back_to.is_some_and(|reach| reach > held.at)
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
    // Counting costs a look at each change, so it waits until it can matter.
    let is_young = !held.at.is_older_than(lists.small_snapshot_every.min(RENEWED_EVERY), now.at);
    if !is_old && (is_young || most * RENEWED_AT <= held.resources) {
        return Ok(false);
    }
    let changes = view.count_changes(held.sequence)?;
    // The revision also counts what is no change of a resource: a link, a media type.
    let described = now.revision - held.revision > most;
    Ok((is_old && (changes > 0 || described)) || changes * RENEWED_AT > held.resources)
}

/// Writes a new snapshot where one is due, or where the old one is not in place.
pub(super) fn render(
    policy: &Policy,
    set: &SetPolicy,
    view: &dyn SetView,
    held: Option<ResourceListFacts>,
    due: bool,
    now: Now,
    documents: &mut Documents<'_>,
) -> Result<ResourceListFacts, Error> {
    let in_place = |held: &ResourceListFacts, documents: &mut Documents<'_>| {
        documents.keep_all(&held.documents) && documents.keep_all(&held.twin)
    };
    if let Some(held) = held.filter(|held| !due && in_place(held, documents)) {
        return Ok(held);
    }
    let write = |kind, documents: &mut Documents<'_>| -> Result<Vec<String>, Error> {
        SnapshotLists { policy, set, view, now, kind }.render(documents)
    };
    Ok(ResourceListFacts {
        at: Moment(now.at),
        completed: Moment(now.completed),
        sequence: now.sequence,
        revision: now.revision,
        resources: view.totals()?.resources,
        rules: set.rules.clone(),
        documents: write(Kind::ResourceList, documents)?,
        twin: if policy.sitemap_twin { write(Kind::Sitemap, documents)? } else { Vec::new() },
    })
}

/// The name of a part: of its snapshot, so that no two snapshots share one.
pub(crate) fn part_name(kind: &str, at: DateTime, number: usize, extension: &str) -> String {
    format!("{kind}-{}-{number:04}.{extension}", stamp(at))
}

/// A datetime as a name has it.
pub(super) fn stamp(at: DateTime) -> String {
    at.to_string().chars().filter(|c| !matches!(c, '-' | ':')).collect()
}

type Resources<'a> = Peekable<Box<dyn Iterator<Item = Result<Resource, Error>> + 'a>>;

/// What is written of a snapshot.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    ResourceList,
    /// Without the elements of ResourceSync.
    Sitemap,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::ResourceList => NAME,
            Self::Sitemap => SITEMAP,
        }
    }
}

struct SnapshotLists<'a> {
    policy: &'a Policy,
    set: &'a SetPolicy,
    view: &'a dyn SetView,
    now: Now,
    kind: Kind,
}

impl SnapshotLists<'_> {
    /// Writes one document, or parts and the index over them; returns their names.
    fn render(&self, documents: &mut Documents<'_>) -> Result<Vec<String>, Error> {
        if self.view.totals()?.resources <= self.policy.lists.entries
            && let Some(name) = self.single(documents)?
        {
            return Ok(vec![name]);
        }
        self.parts(documents)
    }

    /// The whole set in one document; none when it does not fit.
    fn single(&self, documents: &mut Documents<'_>) -> Result<Option<String>, Error> {
        let name = self.set.place.name(self.kind.name());
        let mut complete = false;
        documents.stream(&name, Rank::Part, &self.header(Form::List), &self.policy.write, &mut |page| {
            let mut resources = self.view.resources().peekable();
            self.fill(page, &mut resources)?;
            complete = resources.peek().is_none();
            Ok(())
        })?;
        Ok(complete.then_some(name))
    }

    /// The set in parts, and the index over them.
    fn parts(&self, documents: &mut Documents<'_>) -> Result<Vec<String>, Error> {
        let mut header = self.header(Form::List);
        if self.kind == Kind::ResourceList {
            header.links.push(Link::new(Relation::Index, self.set.place.uri(NAME)));
        }
        let mut resources = self.view.resources().peekable();
        let (mut names, mut entries) = (Vec::new(), Vec::new());
        while resources.peek().is_some() {
            let stem = self.kind.name().trim_end_matches(".xml");
            let part = part_name(stem, self.now.at, names.len() + 1, "xml");
            let name = self.set.place.name(&part);
            documents.stream(&name, Rank::Part, &header, &self.policy.write, &mut |page| {
                self.fill(page, &mut resources)
            })?;
            entries.push(self.member(&part));
            names.push(name);
        }
        let name = self.set.place.name(self.kind.name());
        documents.small(&name, Rank::Index, &self.header(Form::Index), &self.policy.write, &entries)?;
        names.push(name);
        Ok(names)
    }

    /// Writes as many resources as the document takes.
    fn fill(&self, page: &mut Page<'_>, resources: &mut Resources<'_>) -> Result<(), Error> {
        let lists = &self.policy.lists;
        // Room for the last entry and the end of the document.
        let bytes = lists.bytes - lists.bytes / 64;
        while page.entries() < lists.entries && (page.bytes() < bytes || page.entries() == 0) {
            let Some(resource) = resources.next() else { break };
            let mut entry = resource_entry(resource?);
            if self.kind == Kind::Sitemap {
                entry.metadata.clear();
                entry.links.clear();
            }
            page.write(&entry)?;
        }
        Ok(())
    }

    fn member(&self, part: &str) -> Entry {
        let mut entry = Entry::new(self.set.place.uri(part));
        if self.kind == Kind::ResourceList {
            entry.metadata.at = Some(self.now.at);
            entry.metadata.completed = Some(self.now.completed);
        }
        entry
    }

    fn header(&self, form: Form) -> Header {
        let mut header = Header::new(form, Capability::ResourceList);
        if self.kind == Kind::Sitemap {
            header.metadata = None;
            return header;
        }
        if let Some(metadata) = &mut header.metadata {
            metadata.at = Some(self.now.at);
            metadata.completed = Some(self.now.completed);
        }
        header.links.push(Link::new(Relation::Up, self.set.place.capability_list()));
        header.links.extend(archive::link(self.policy, self.set, NAME));
        header
    }
}
