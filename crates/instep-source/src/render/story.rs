use std::collections::BTreeMap;

use resourcesync::{Capability, DateTime, Entry, Metadata};

use super::{
    Policy, SetPolicy, about,
    archive::{Archive, Superseded},
    capability_list, change_dump, change_list,
    facts::{ChangeDumpFacts, DumpFacts, Facts, ResourceListFacts, SetFacts},
    resource_dump, resource_list, robots,
    writer::{Documents, ReadArchive},
};
use crate::{
    Error,
    catalogue::{ChangeRecord, Resource, Totals},
    sink::Sink,
};

/// What a set holds at one moment, and what has happened to it.
pub trait SetView {
    /// How much it holds.
    ///
    /// # Errors
    /// When the catalogue cannot be read.
    fn totals(&self) -> Result<Totals, Error>;

    /// Its resources, in the order of the catalogue.
    fn resources(&self) -> Box<dyn Iterator<Item = Result<Resource, Error>> + '_>;

    /// Its changes after a sequence number, oldest first.
    fn changes(&self, after: u64) -> Box<dyn Iterator<Item = Result<ChangeRecord, Error>> + '_>;

    /// How many these are.
    ///
    /// # Errors
    /// When the catalogue cannot be read.
    fn count_changes(&self, after: u64) -> Result<u64, Error>;
}

/// The moment that a publication shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Now {
    /// When the publication began, before the content was looked at (TIME-3).
    pub at: DateTime,
    /// When the last of the content had been looked at (TIME-4).
    pub completed: DateTime,
    /// The last change of the catalogue.
    pub sequence: u64,
    /// The catalogue's revision.
    pub revision: u64,
}

impl Now {
    /// A moment of the catalogue.
    pub fn new(at: DateTime, completed: DateTime, sequence: u64, revision: u64) -> Self {
        Self { at, completed, sequence, revision }
    }
}

/// What a publication starts from.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Before {
    /// What is in place.
    pub facts: Facts,
    /// Whether the last publication was interrupted, so that nothing of it is taken for granted.
    pub repair: bool,
    /// Dumps whose packages are staged, by set.
    pub built: BTreeMap<String, Built>,
}

/// Dumps of one set whose packages are staged.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Built {
    /// Its Resource Dump.
    pub resources: Option<DumpFacts>,
    /// Its Change Dump.
    pub changes: Option<ChangeDumpFacts>,
}

/// Writes, into the sink, the documents that have to be written so that the sink shows the sets as they are now.
/// `views` are the sets of the policy, in its order; `archives` tells what archives keep, where that matters. Returns
/// what will be published; nothing is written where the facts stay the same.
///
/// # Errors
/// When the catalogue cannot be read or the sink cannot be written.
pub fn render(
    policy: &Policy,
    views: &[&dyn SetView],
    before: &Before,
    now: Now,
    archives: ReadArchive<'_>,
    sink: &mut dyn Sink,
) -> Result<Facts, Error> {
    let held = &before.facts;
    let written_for = format!("{} {:?}", policy.place.base(), policy.write.version);
    let repair = before.repair || held.written_for != written_for;
    let mut documents = Documents::new(sink, held, archives, repair);
    let mut sets = BTreeMap::new();
    for (set, view) in policy.sets.iter().zip(views) {
        let held = held.sets.get(&set.name).cloned().unwrap_or_default();
        let built = before.built.get(&set.name).cloned().unwrap_or_default();
        sets.insert(set.name.clone(), render_set(policy, set, *view, held, built, now, &mut documents)?);
    }
    for (name, gone) in held.sets.iter().filter(|(name, _)| !sets.contains_key(*name)) {
        documents.drop_archive(name, &gone.archive)?;
    }
    about::render(policy, &mut documents)?;
    capability_list::render_source_description(policy, &mut documents)?;
    robots::render(policy, &mut documents)?;
    Ok(Facts { written_for, sets, ..documents.finish(now.at) })
}

fn render_set(
    policy: &Policy,
    set: &SetPolicy,
    view: &dyn SetView,
    held: SetFacts,
    built: Built,
    now: Now,
    documents: &mut Documents<'_>,
) -> Result<SetFacts, Error> {
    let mut next = SetFacts::default();
    let mut offered = Vec::new();
    let mut archive = Archive::open(policy, set, &held.archive, now.at);
    if archive.is_none() {
        documents.drop_archive(&set.name, &held.archive)?;
    }
    let lists = match set.change_list {
        true => Some(change_list::plan(policy, view, held.change_list, now)?),
        false => None,
    };
    let reaches = lists.as_ref().map(change_list::ChangeLists::reaches_back_to);
    if set.resource_list {
        let before = held.resource_list;
        let due = resource_list::is_due(policy, set, view, before.as_ref(), reaches, now)?;
        let list = resource_list::render(policy, set, view, before.clone(), due, now, documents)?;
        if let (Some(archive), Some(before)) = (&mut archive, before.filter(|before| before.at != list.at)) {
            archive.resource_list(&superseded_list(&before), documents)?;
        }
        next.resource_list = Some(list);
        offered.push(capability(set, Capability::ResourceList, resource_list::NAME));
    }
    let before = held.resource_dump;
    next.resource_dump =
        resource_dump::render(policy, set, built.resources.or_else(|| before.clone()), documents)?;
    if let (Some(archive), Some(before)) =
        (&mut archive, before.filter(|before| next.resource_dump.as_ref() != Some(before)))
    {
        let parts = resource_dump::files(set, &before);
        archive.resource_dump(&superseded_dump(&before, &parts), documents)?;
    }
    if next.resource_dump.is_some() {
        offered.push(capability(set, Capability::ResourceDump, resource_dump::NAME));
    }
    if let Some(lists) = lists {
        let dumped = next.resource_dump.as_ref().map(|dump| dump.at);
        let needed_from = next.resource_list.as_ref().map(|list| list.at).into_iter().chain(dumped).min();
        let (lists, leaving) = change_list::render(policy, set, view, lists, needed_from, documents)?;
        if let Some(archive) = &mut archive {
            archive.change_lists(leaving, documents)?;
        }
        next.change_list = Some(lists);
        offered.push(capability(set, Capability::ChangeList, change_list::NAME));
    }
    let dump = change_dump::render(policy, set, built.changes.or(held.change_dump), documents)?;
    if let Some((dump, leaving)) = dump {
        if let Some(archive) = &mut archive {
            archive.change_packages(leaving, documents)?;
        }
        next.change_dump = Some(dump);
        offered.push(capability(set, Capability::ChangeDump, change_dump::NAME));
    }
    if let Some(archive) = archive {
        let dumps = (next.resource_dump.is_some(), next.change_dump.is_some());
        let closed = next.change_list.as_ref().map(|lists| lists.closed.as_slice());
        next.archive = archive.render(closed, dumps, documents, &mut offered)?;
    }
    offered.extend(set.channels.iter().cloned());
    capability_list::render(policy, set, &offered, documents)?;
    Ok(next)
}

fn superseded_list(list: &ResourceListFacts) -> Superseded<'_> {
    let (at, completed) = (list.at, list.completed);
    Superseded { at, completed, name: resource_list::NAME, parts: &list.documents }
}

fn superseded_dump<'a>(dump: &DumpFacts, parts: &'a [String]) -> Superseded<'a> {
    Superseded { at: dump.at, completed: dump.completed, name: resource_dump::NAME, parts }
}

/// An entry of a Capability List (CAP-6, CAP-7).
fn capability(set: &SetPolicy, capability: Capability, document: &str) -> Entry {
    let mut entry = Entry::new(set.place.uri(document));
    entry.metadata = Metadata::with_capability(capability);
    entry
}
