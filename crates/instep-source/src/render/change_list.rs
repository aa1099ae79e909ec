use resourcesync::{Capability, Entry, Form, Header, Link, Relation};

use super::{
    Policy, SetPolicy, Span, archive,
    entry::change_entry,
    facts::{ChangeListFacts, Moment},
    rotation::rotate,
    story::{Now, SetView},
    writer::Documents,
};
use crate::{Error, Rotation, sink::Rank};

pub(super) const NAME: &str = "changelist.xml";

/// The lists as they will be.
pub(super) struct ChangeLists {
    facts: ChangeListFacts,
    /// The number of the first list that is not in place as it will be.
    first_new: u64,
}

impl ChangeLists {
    /// The earliest moment since when every change is in the lists.
    pub(super) fn reaches_back_to(&self) -> Moment {
        self.facts.closed.first().unwrap_or(&self.facts.open).from
    }
}

/// Decides which changes stand in which list. The first publication starts an empty list from its own `at`.
pub(super) fn plan(
    policy: &Policy,
    view: &dyn SetView,
    held: Option<ChangeListFacts>,
    now: Now,
) -> Result<ChangeLists, Error> {
    let single = policy.lists.single_changelist;
    let held = match held {
        Some(held) => held,
        None => starting(view, now, single)?,
    };
    // One plain list does not rotate; what it cannot hold leaves it at its beginning.
    let rotation = match single {
        true => Rotation { entries: policy.lists.entries.div_ceil(2), age: std::time::Duration::MAX },
        false => policy.lists.rotation,
    };
    let changes = view.changes(held.through).map(|change| change.map(|it| (it.sequence, it.datetime)));
    let before = held.open.clone();
    let (newly_closed, open) = rotate(held.open, held.through, changes, rotation)?;
    let first_new = match (held.single == single, open == before) {
        (false, _) => 0,
        (true, false) => before.number,
        (true, true) => u64::MAX,
    };
    let mut closed = held.closed;
    closed.extend(newly_closed);
    if single {
        closed.drain(..closed.len().saturating_sub(1));
    }
    Ok(ChangeLists { facts: ChangeListFacts { through: now.sequence, single, closed, open }, first_new })
}

/// An empty open list from the `at` of the first publication. What was logged before then is not in it; what an
/// application recorded while the content was looked at is.
fn starting(view: &dyn SetView, now: Now, single: bool) -> Result<ChangeListFacts, Error> {
    let mut through = 0;
    for change in view.changes(0) {
        let change = change?;
        if change.datetime > now.at {
            break;
        }
        through = change.sequence;
    }
    let open = Span::open(1, now.at, through);
    Ok(ChangeListFacts { through, single, closed: Vec::new(), open })
}

/// Writes the lists that changed, and the index over them. Lists older than `needed_from` leave the index when it has
/// more than the policy says; returns these too.
pub(super) fn render(
    policy: &Policy,
    set: &SetPolicy,
    view: &dyn SetView,
    lists: ChangeLists,
    needed_from: Option<Moment>,
    documents: &mut Documents<'_>,
) -> Result<(ChangeListFacts, Vec<Span>), Error> {
    let ChangeLists { mut facts, first_new } = lists;
    let writer = ListWriter { policy, set, view };
    if facts.single {
        writer.single(&facts, first_new, documents)?;
        return Ok((facts, Vec::new()));
    }
    let surplus = facts.closed.len().saturating_sub(policy.lists.closed_lists);
    let leaves = |span: &&Span| needed_from.is_none_or(|needed| span.until <= Some(needed));
    let leaving = facts.closed.iter().take(surplus).take_while(leaves).count();
    let leaving: Vec<_> = facts.closed.drain(..leaving).collect();
    // So many changes that a list closes and leaves at once: the archive still has it.
    for span in leaving.iter().filter(|span| policy.archives.is_some() && span.number >= first_new) {
        writer.list(&set.place.name(&list_name(span)), span, true, documents)?;
    }
    // A new list is in place before the one that refers to it by its end: the open one comes first.
    for span in [&facts.open].into_iter().chain(facts.closed.iter().rev()) {
        let name = set.place.name(&list_name(span));
        if span.number >= first_new || !documents.keep(&name) {
            writer.list(&name, span, true, documents)?;
        }
    }
    writer.index(&facts, documents)?;
    Ok((facts, leaving))
}

pub(super) fn list_name(span: &Span) -> String {
    format!("changelist-{:06}.xml", span.number)
}

/// The entry of a list in the index or the archive.
pub(super) fn member(set: &SetPolicy, span: &Span) -> Entry {
    let mut entry = Entry::new(set.place.uri(&list_name(span)));
    entry.metadata.from = Some(span.from.0);
    entry.metadata.until = span.until.map(|until| until.0);
    entry
}

struct ListWriter<'a> {
    policy: &'a Policy,
    set: &'a SetPolicy,
    view: &'a dyn SetView,
}

impl ListWriter<'_> {
    fn list(
        &self,
        name: &str,
        span: &Span,
        in_index: bool,
        documents: &mut Documents<'_>,
    ) -> Result<(), Error> {
        let mut header = self.header(Form::List, span.from, span.until);
        if in_index {
            header.links.push(Link::new(Relation::Index, self.set.place.uri(NAME)));
        }
        let entries = usize::try_from(span.entries).unwrap_or(usize::MAX);
        documents.stream(name, Rank::Part, &header, &self.policy.write, &mut |page| {
            let mut changes = self.view.changes(span.after).take(entries);
            changes.try_for_each(|change| page.write(&change_entry(change?)))
        })
    }

    /// One plain list of what the open span and the one before it hold.
    fn single(
        &self,
        facts: &ChangeListFacts,
        first_new: u64,
        documents: &mut Documents<'_>,
    ) -> Result<(), Error> {
        let mut whole = facts.open.clone();
        if let Some(before) = facts.closed.last() {
            whole.from = before.from;
            whole.after = before.after;
            whole.entries += before.entries;
        }
        let name = self.set.place.name(NAME);
        if facts.open.number >= first_new || !documents.keep(&name) {
            self.list(&name, &whole, false, documents)?;
        }
        Ok(())
    }

    /// The index names the closed lists with their end, and the open one without (CLI-8 to CLI-10).
    fn index(&self, facts: &ChangeListFacts, documents: &mut Documents<'_>) -> Result<(), Error> {
        let entries: Vec<_> =
            facts.closed.iter().chain([&facts.open]).map(|span| member(self.set, span)).collect();
        let from = facts.closed.first().unwrap_or(&facts.open).from;
        let header = self.header(Form::Index, from, None);
        documents.small(&self.set.place.name(NAME), Rank::Index, &header, &self.policy.write, &entries)
    }

    fn header(&self, form: Form, from: Moment, until: Option<Moment>) -> Header {
        let mut header = Header::new(form, Capability::ChangeList);
        if let Some(metadata) = &mut header.metadata {
            metadata.from = Some(from.0);
            metadata.until = until.map(|until| until.0);
        }
        header.links.push(Link::new(Relation::Up, self.set.place.capability_list()));
        header.links.extend(archive::link(self.policy, self.set, NAME));
        header
    }
}
