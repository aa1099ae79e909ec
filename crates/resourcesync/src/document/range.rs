//! Intervals of time, and the members of a document that lie in one.

use super::{
    Collected, Entry,
    kind::{DocumentKind, IndexKind},
};
use crate::value::DateTime;

/// An interval of time, both ends included; an absent end is open (TIME-5, TIME-6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeRange {
    /// The start.
    pub from: Option<DateTime>,
    /// The end.
    pub until: Option<DateTime>,
}

impl TimeRange {
    /// Creates a range from one time to another.
    pub fn new(from: Option<DateTime>, until: Option<DateTime>) -> Self {
        Self { from, until }
    }

    /// Returns `true` if the range contains a time, with the precision that it was written with.
    pub fn contains(&self, time: &DateTime) -> bool {
        self.overlaps(Some(time), Some(time))
    }

    /// Returns `true` if the interval from `start` to `end` has a part in this one.
    pub fn overlaps(&self, start: Option<&DateTime>, end: Option<&DateTime>) -> bool {
        let before = |a: Option<&DateTime>, b: Option<&DateTime>| match (a, b) {
            (Some(a), Some(b)) => a.instant() < b.end(),
            _ => true,
        };
        before(start, self.until.as_ref()) && before(self.from.as_ref(), end)
    }

    /// Returns `true` if the interval from `start` to `end` is entirely in this range.
    pub fn encloses(&self, start: Option<&DateTime>, end: Option<&DateTime>) -> bool {
        let within =
            |limit: Option<DateTime>, time: Option<&DateTime>, fits: fn(&DateTime, &DateTime) -> bool| {
                limit.is_none_or(|limit| time.is_some_and(|time| fits(&limit, time)))
            };
        within(self.from, start, |from, start| start.instant() >= from.instant())
            && within(self.until, end, |until, end| end.end() <= until.end())
    }
}

impl<K: IndexKind> Collected<K> {
    /// Returns the members in document order (CLI-12).
    pub fn members(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Returns the members whose stated interval lies entirely within a range (TIME-12). The interval is that from
    /// `from` to `until`, or from `at` to `completed`.
    pub fn members_within(&self, range: TimeRange) -> impl Iterator<Item = &Entry> {
        within(&self.entries, range)
    }

    /// Returns the members that may have a part in a range: a time that is not stated excludes nothing (TIME-12).
    pub fn members_overlapping(&self, range: TimeRange) -> impl Iterator<Item = &Entry> {
        overlapping(&self.entries, range)
    }
}

impl<K: DocumentKind> Collected<K> {
    /// Returns the entries whose own interval lies entirely within a range: packages of a dump, lists of an archive.
    /// The interval is that from `from` to `until`, or from `at` to `completed`.
    pub fn entries_within(&self, range: TimeRange) -> impl Iterator<Item = &Entry> {
        within(&self.entries, range)
    }

    /// Returns the entries that may have a part in a range: a time that is not stated excludes nothing.
    pub fn entries_overlapping(&self, range: TimeRange) -> impl Iterator<Item = &Entry> {
        overlapping(&self.entries, range)
    }
}

fn within(entries: &[Entry], range: TimeRange) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(move |entry| {
        let (start, end) = interval(entry);
        range.encloses(start, end)
    })
}

fn overlapping(entries: &[Entry], range: TimeRange) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(move |entry| {
        let (start, end) = interval(entry);
        range.overlaps(start, end)
    })
}

/// Returns the interval that an entry states for its target.
fn interval(entry: &Entry) -> (Option<&DateTime>, Option<&DateTime>) {
    let md = &entry.metadata;
    match md.from.or(md.until) {
        Some(_) => (md.from.as_ref(), md.until.as_ref()),
        None => (md.at.as_ref(), md.completed.as_ref().or(md.at.as_ref())),
    }
}
