//! Comparisons of Change Lists with what an earlier run read of them: they may lack changes that were applied, or show that
//! the clock of the Source went back.

use resourcesync::{DateTime, Uri, value::Precision};

use crate::{
    Error,
    clock::{is_long_before, latest_time},
    discover::CapabilitySet,
    documents::Document,
    plan::{IndexMember, Mark, Shape, Survey, resource},
    records::DocumentNote,
    run::SyncRun,
    state::{DocumentRecord, SetId, StateError},
};

/// A Change List, and what an earlier run recorded of it.
pub(super) struct KnownList<'a> {
    pub(super) uri: &'a Uri,
    pub(super) document: &'a Document,
    pub(super) record: Option<&'a DocumentRecord>,
    /// `true` if it has only the last change of each resource.
    pub(super) is_sparse: bool,
}

impl KnownList<'_> {
    fn begins(&self) -> Option<DateTime> {
        self.document.header.metadata.as_ref().and_then(|root| root.from)
    }

    /// Returns how many entries without a usable `loc` the list had when it was read last, which was reported then. 0 if it
    /// began elsewhere.
    pub(super) fn reported_unusable(&self, run: &SyncRun<'_>) -> Result<u64, Error> {
        let Some(record) = self.record.filter(|record| record.at == self.begins()) else { return Ok(0) };
        Ok(DocumentNote::read(run.state(), record)?.unusable)
    }

    /// Returns `true` if the list is the one that was read last and lacks changes that were applied, also if it is read beside
    /// an inventory now, from the time of that on (O705).
    pub(super) fn lacks_known_changes(&self, run: &SyncRun<'_>, set: SetId) -> Result<bool, Error> {
        let held = run.state().checkpoint(set)?.filter(|held| held.document.as_ref() == Some(self.uri));
        let Some(held) = held.filter(|_| run.options.as_of.is_none()) else { return Ok(false) };
        let Some(reached) = run.believed(held.datetime) else { return Ok(false) };
        let mark = Mark {
            from: self.record.and_then(|record| record.at),
            entries: held.position,
            leading: held.leading,
            may_lose_entries: self.is_sparse,
        };
        let list = self.document;
        let survey = Survey::new(&list.header, Some(&mark), Some(latest_time(list.date)));
        let mut survey = survey.since(Some(reached));
        list.for_each(|entry| survey.observe(entry))?;
        let shape = survey.finish();
        Ok(shape.lost_changes || shape.went_back)
    }

    /// Returns `true` if the list begins later than when it was read last, but long before the newest change that it had then,
    /// and lacks that change: the clock of the Source went back behind it (O706). A list that still has changes which were
    /// applied is the same one, of a Source that lists only the last change of each resource (CL-5).
    pub(super) fn lacks_newest_change(&self, run: &SyncRun<'_>) -> Result<bool, Error> {
        let record = self.record.filter(|_| !self.is_sparse);
        let (Some(from), Some(record)) = (self.begins(), record) else { return Ok(false) };
        let is_later = record.at.is_some_and(|before| before.end() <= from.instant());
        let newest = newest_change(run, record)?.filter(|newest| is_later && is_long_before(from, *newest));
        let Some(newest) = newest else { return Ok(false) };
        Ok(!has_change_of(self.document, newest)? && !has_applied_change(run, self.document, newest)?)
    }
}

/// Returns the newest change that the list which was read last had then, if that list is closed now long before the change.
/// The clock of the Source went back behind it (O706), unless the next list has it: a list may be closed at the full day or
/// hour, and its last changes moved to the next one (O864).
pub(super) fn newest_after_end(
    run: &SyncRun<'_>,
    found: &CapabilitySet,
    members: &[IndexMember],
) -> Result<Option<DateTime>, Error> {
    let Some(set) = run.state().known_set(found.name())? else { return Ok(None) };
    let Some(last) = run.state().checkpoint(set)?.and_then(|held| held.document) else { return Ok(None) };
    let ended = members.iter().find(|member| member.uri == last).and_then(|member| member.until);
    let Some(record) = run.state().document(&last)? else { return Ok(None) };
    Ok(newest_change(run, &record)?.filter(|newest| ends_long_before(ended, *newest)))
}

/// Returns `true` if the end of a list is long before a change; `false` if it states none.
pub(super) fn ends_long_before(until: Option<DateTime>, change: DateTime) -> bool {
    until.is_some_and(|until| is_long_before(until, change))
}

/// Returns `true` if a list has a change of a time.
pub(super) fn has_change_of(list: &Document, time: DateTime) -> Result<bool, Error> {
    has_change(list, |own| own.unix_micros() == time.unix_micros())
}

/// Returns `true` if a list has a change whose time is a wanted one.
fn has_change(list: &Document, is_wanted: impl Fn(DateTime) -> bool) -> Result<bool, Error> {
    let (shape, mut has_it) = (shape_of(list)?, false);
    list.for_each(|entry| has_it |= shape.own_time(entry).is_some_and(&is_wanted))?;
    Ok(has_it)
}

/// Returns `true` if the copy has a change of a list, up to a time: the held resource has the time of the change.
fn has_applied_change(run: &SyncRun<'_>, list: &Document, latest: DateTime) -> Result<bool, Error> {
    let shape = shape_of(list)?;
    let mut has_one: Result<bool, StateError> = Ok(false);
    list.for_each(|entry| {
        let time = shape.own_time(entry).map(|time| time.unix_micros());
        if matches!(has_one, Ok(false)) && time.is_some_and(|time| time <= latest.unix_micros()) {
            let held = run.state().held(resource(&entry.loc).as_str());
            let applied = held.map(|held| held.and_then(|held| held.metadata.datetime));
            has_one = applied.map(|applied| applied.map(|applied| applied.unix_micros()) == time);
        }
    })?;
    Ok(has_one?)
}

/// Returns the order and the times of a list, whatever was read of it before.
fn shape_of(list: &Document) -> Result<Shape, Error> {
    let mut survey = Survey::new(&list.header, None, Some(latest_time(list.date)));
    list.for_each(|entry| survey.observe(entry))?;
    Ok(survey.finish())
}

/// Returns the time of the newest change of a list that was read, to be compared with what the Source states later. `None` if
/// the list states its end long before it: such a Source has no better times (O864).
pub(super) fn newest_to_keep(shape: &Shape, ends: [Option<DateTime>; 2]) -> Option<DateTime> {
    let is_after_end = |newest: DateTime| ends.into_iter().any(|until| ends_long_before(until, newest));
    shape.times.newest.filter(|newest| !is_after_end(*newest))
}

/// Returns `true` if an index does not name the Change List that was read last, and its open list begins before that one did:
/// it is the index from before, as of a Source that was restored from a backup (O768).
pub(super) fn lacks_read_last(
    run: &SyncRun<'_>,
    found: &CapabilitySet,
    members: &[IndexMember],
) -> Result<bool, Error> {
    let Some(set) = run.state().known_set(found.name())? else { return Ok(false) };
    // Of the documents that may have been read last, only a Change List has a digest of its entries.
    let held = run.state().checkpoint(set)?.filter(|held| held.leading.is_some());
    let Some(last) = held.and_then(|held| held.document) else { return Ok(false) };
    let open = members.last().filter(|open| open.until.is_none());
    let Some(begins) = open.and_then(|open| open.from) else { return Ok(false) };
    let began = run.believed(run.state().document(&last)?.and_then(|record| record.at));
    let is_named = members.iter().any(|member| member.uri == last);
    Ok(!is_named && began.is_some_and(|began| begins.end() <= began.instant()))
}

/// Returns `true` if a list has the newest change of the list that was read last: the Source has merged its lists, and was not
/// restored (O768). Times of days do not show that, because an earlier change may have the same one.
pub(super) fn has_newest_of_last(run: &SyncRun<'_>, set: SetId, list: &Document) -> Result<bool, Error> {
    let Some(last) = run.state().checkpoint(set)?.and_then(|held| held.document) else { return Ok(false) };
    let record = run.state().document(&last)?;
    let newest = record.map(|record| newest_change(run, &record)).transpose()?.flatten();
    let Some(newest) = newest else { return Ok(false) };
    has_change(list, |own| own.precision() >= Precision::Second && own.unix_micros() == newest.unix_micros())
}

/// Returns `true` if the clock of the Source may have gone back since the lists were read: one of them ends before it
/// begins, and none of those after it was read. The copy may have reached any time while that list was open, so what
/// follows is new although its times may be over (O45).
pub(super) fn may_have_gone_back(members: &[IndexMember], last: Option<&Uri>) -> bool {
    let stepped = members.iter().rposition(IndexMember::went_back);
    let read = members.iter().rposition(|member| Some(&member.uri) == last);
    stepped.is_some_and(|stepped| read.is_none_or(|read| read <= stepped))
}

/// Returns the time of the newest change that a list had when it was read last; `None` if no clock has reached it.
fn newest_change(run: &SyncRun<'_>, record: &DocumentRecord) -> Result<Option<DateTime>, Error> {
    let newest = DocumentNote::read(run.state(), record)?.newest;
    Ok(run.believed(newest.map(DateTime::from_unix_micros)))
}
