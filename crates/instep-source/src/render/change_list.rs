//! The Change Lists of a set (§12), and the index over them.

use resourcesync::{Capability, Form, Header, Link, Relation};

use super::{
    SetPolicy, SourcePolicy,
    entry::change_entry,
    measure::{EntryMeter, room_for_entries},
    place::CHANGE_LIST,
    rotation::{LoggedChange, rotate},
    set_input::SetInput,
    view::{Now, SetView},
    writer::RenderedDocuments,
};
use crate::{
    Error, Rotation,
    records::{Moment, PublishedChangeLists, Span},
    sink::Rank,
};

/// The lists as they will be.
pub(super) struct ChangeLists {
    published: PublishedChangeLists,
    /// The number of the first list that is not in place as it will be.
    first_new: u64,
    /// The spans that one plain list has no room for any more.
    dropped: Vec<Span>,
}

impl ChangeLists {
    /// Returns the earliest time from which every change is in the lists.
    pub(super) fn reaches_back_to(&self) -> Moment {
        self.published.closed.first().unwrap_or(&self.published.open).from
    }
}

/// Decides which change is in which list. The first publication starts an empty list from its own `at`.
pub(super) fn plan(
    policy: &SourcePolicy,
    view: &dyn SetView,
    held: Option<PublishedChangeLists>,
    now: Now,
) -> Result<ChangeLists, Error> {
    let single = policy.lists.single_changelist;
    let held = match held {
        Some(held) => held,
        None => starting(view, now, single)?,
    };
    // One plain list does not rotate; when it is full, changes at its beginning are dropped.
    let room = room_for_entries(&policy.lists);
    let bounds = if single {
        (Rotation { entries: policy.lists.entries.div_ceil(2), age: std::time::Duration::MAX }, room / 2)
    } else {
        (policy.lists.rotation, room)
    };
    let mut meter = EntryMeter::new(&policy.write)?;
    let changes = view.changes(held.through).map(|change| {
        let change = change?;
        let (sequence, datetime) = (change.sequence, change.datetime);
        Ok::<_, Error>(LoggedChange { sequence, datetime, bytes: meter.bytes(&change_entry(change)) })
    });
    let before = held.open.clone();
    let (newly_closed, open) = rotate(held.open, held.through, changes, bounds)?;
    let first_new = match (held.single == single, open == before) {
        (false, _) => 0,
        (true, false) => before.number,
        (true, true) => u64::MAX,
    };
    let mut closed = held.closed;
    closed.extend(newly_closed);
    let surplus = if single { closed.len().saturating_sub(1) } else { 0 };
    let dropped = closed.drain(..surplus).collect();
    Ok(ChangeLists {
        published: PublishedChangeLists { through: now.sequence, single, closed, open },
        first_new,
        dropped,
    })
}

/// Returns an empty open list from the `at` of the first publication. Changes that were logged before are not in it;
/// changes that an application recorded during the scan are.
fn starting(view: &dyn SetView, now: Now, single: bool) -> Result<PublishedChangeLists, Error> {
    let mut through = 0;
    for change in view.changes(0) {
        let change = change?;
        if change.datetime > now.at {
            break;
        }
        through = change.sequence;
    }
    let open = Span::open(1, now.at, through);
    Ok(PublishedChangeLists { through, single, closed: Vec::new(), open })
}

/// Writes the lists that changed, and the index over them. Lists older than `needed_from` are removed from the index
/// if it has more than the policy allows; also returns these, or what one plain list has no room for.
pub(super) fn render(
    input: SetInput<'_>,
    lists: ChangeLists,
    needed_from: Option<Moment>,
    documents: &mut RenderedDocuments<'_>,
) -> Result<(PublishedChangeLists, Vec<Span>), Error> {
    let SetInput { policy, set, view } = input;
    let ChangeLists { mut published, first_new, dropped } = lists;
    let writer = ListWriter { policy, set, view };
    if published.single {
        writer.archived(&dropped, documents)?;
        writer.single(&published, first_new, documents)?;
        return Ok((published, dropped));
    }
    let surplus = published.closed.len().saturating_sub(policy.lists.closed_lists);
    let leaves = |span: &&Span| needed_from.is_none_or(|needed| span.until <= Some(needed));
    let leaving = published.closed.iter().take(surplus).take_while(leaves).count();
    let leaving: Vec<_> = published.closed.drain(..leaving).collect();
    writer.archived(&leaving, documents)?;
    // A new list must be in place before the list that refers to it: the open one comes first.
    for span in [&published.open].into_iter().chain(published.closed.iter().rev()) {
        let name = set.place.name(&span.document());
        if span.number >= first_new || !documents.keep(&name) {
            writer.list(&name, span, true, documents)?;
        }
    }
    writer.index(&published, documents)?;
    Ok((published, leaving))
}

struct ListWriter<'a> {
    policy: &'a SourcePolicy,
    set: &'a SetPolicy,
    view: &'a dyn SetView,
}

impl ListWriter<'_> {
    /// Writes lists that are only in the archive from now on, if there is one. They are no longer members of an index
    /// (NAV-2), and what one plain list drops was never a document of its own.
    fn archived(&self, leaving: &[Span], documents: &mut RenderedDocuments<'_>) -> Result<(), Error> {
        if self.policy.archives.is_none() {
            return Ok(());
        }
        leaving
            .iter()
            .try_for_each(|span| self.list(&self.set.place.name(&span.document()), span, false, documents))
    }

    fn list(
        &self,
        name: &str,
        span: &Span,
        in_index: bool,
        documents: &mut RenderedDocuments<'_>,
    ) -> Result<(), Error> {
        let mut header = self.header(Form::List, span.from, span.until);
        if in_index {
            header.links.push(Link::new(Relation::Index, self.set.place.uri(CHANGE_LIST)));
        }
        let entries = usize::try_from(span.entries).unwrap_or(usize::MAX);
        documents.stream(name, Rank::Part, &header, &self.policy.write, &mut |page| {
            let mut changes = self.view.changes(span.after).take(entries);
            changes.try_for_each(|change| page.write(&change_entry(change?)))
        })
    }

    /// Writes one plain list of the changes in the open span and the one before it.
    fn single(
        &self,
        published: &PublishedChangeLists,
        first_new: u64,
        documents: &mut RenderedDocuments<'_>,
    ) -> Result<(), Error> {
        let mut whole = published.open.clone();
        if let Some(before) = published.closed.last() {
            whole.from = before.from;
            whole.after = before.after;
            whole.entries += before.entries;
        }
        let name = self.set.place.name(CHANGE_LIST);
        if published.open.number >= first_new || !documents.keep(&name) {
            self.list(&name, &whole, false, documents)?;
        }
        Ok(())
    }

    /// Writes the index, which names the closed lists with their end and the open one without (CLI-8 to CLI-10).
    fn index(
        &self,
        published: &PublishedChangeLists,
        documents: &mut RenderedDocuments<'_>,
    ) -> Result<(), Error> {
        let entries: Vec<_> =
            published.closed.iter().chain([&published.open]).map(|span| span.member(self.set)).collect();
        let from = published.closed.first().unwrap_or(&published.open).from;
        let header = self.header(Form::Index, from, None);
        documents.small(&self.set.place.name(CHANGE_LIST), Rank::Index, &header, &self.policy.write, &entries)
    }

    fn header(&self, form: Form, from: Moment, until: Option<Moment>) -> Header {
        let mut header = Header::new(form, Capability::ChangeList);
        if let Some(metadata) = &mut header.metadata {
            metadata.from = Some(from.0);
            metadata.until = until.map(|until| until.0);
        }
        header.links.push(Link::new(Relation::Up, self.set.place.capability_list()));
        header.links.extend(self.policy.archive_link(self.set, CHANGE_LIST));
        header
    }
}
