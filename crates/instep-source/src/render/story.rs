use std::collections::BTreeMap;

use resourcesync::{Capability, DateTime, Entry, Metadata};

use super::{
    Policy, SetPolicy, about, capability_list, change_list,
    facts::{Facts, SetFacts},
    resource_dump, resource_list, robots,
    writer::Documents,
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

/// Writes, into the sink, the documents that have to be written so that the sink shows the sets as they are now.
/// `views` are the sets of the policy, in its order. Returns what will be published; nothing is written where the
/// facts stay the same.
///
/// # Errors
/// When the catalogue cannot be read or the sink cannot be written.
pub fn render(
    policy: &Policy,
    views: &[&dyn SetView],
    held: &Facts,
    repair: bool,
    now: Now,
    sink: &mut dyn Sink,
) -> Result<Facts, Error> {
    let written_for = format!("{} {:?}", policy.place.base(), policy.write.version);
    let mut documents = Documents::new(sink, held, repair || held.written_for != written_for);
    let mut sets = BTreeMap::new();
    for (set, view) in policy.sets.iter().zip(views) {
        let before = held.sets.get(&set.name).cloned().unwrap_or_default();
        sets.insert(set.name.clone(), render_set(policy, set, *view, before, now, &mut documents)?);
    }
    about::render(policy, &mut documents)?;
    capability_list::render_source_description(policy, &mut documents)?;
    robots::render(policy, &mut documents)?;
    let (documents, retired) = documents.finish(held, now.at);
    Ok(Facts { written_for, sets, documents, retired })
}

fn render_set(
    policy: &Policy,
    set: &SetPolicy,
    view: &dyn SetView,
    held: SetFacts,
    now: Now,
    documents: &mut Documents<'_>,
) -> Result<SetFacts, Error> {
    let mut next = SetFacts::default();
    let mut offered = Vec::new();
    let lists = match set.change_list {
        true => Some(change_list::plan(policy, view, held.change_list, now)?),
        false => None,
    };
    let reaches = lists.as_ref().map(change_list::ChangeLists::reaches_back_to);
    if set.resource_list {
        let due = resource_list::is_due(policy, view, held.resource_list.as_ref(), reaches, now)?;
        next.resource_list =
            Some(resource_list::render(policy, set, view, held.resource_list, due, now, documents)?);
        offered.push(capability(set, Capability::ResourceList, resource_list::NAME));
    }
    next.resource_dump = resource_dump::render(policy, set, held.resource_dump, documents)?;
    if next.resource_dump.is_some() {
        offered.push(capability(set, Capability::ResourceDump, resource_dump::NAME));
    }
    if let Some(lists) = lists {
        let dumped = next.resource_dump.as_ref().map(|dump| dump.at);
        let needed_from = next.resource_list.as_ref().map(|list| list.at).into_iter().chain(dumped).min();
        next.change_list = Some(change_list::render(policy, set, view, lists, needed_from, documents)?);
        offered.push(capability(set, Capability::ChangeList, change_list::NAME));
    }
    offered.extend(set.channels.iter().cloned());
    capability_list::render(policy, set, &offered, documents)?;
    Ok(next)
}

/// An entry of a Capability List (CAP-6, CAP-7).
fn capability(set: &SetPolicy, capability: Capability, document: &str) -> Entry {
    let mut entry = Entry::new(set.place.uri(document));
    entry.metadata = Metadata::with_capability(capability);
    entry
}
