//! The first reading of a Change List: its order, its times and the entries that are new.

use resourcesync::{DateTime, Entry, Metadata, value::Precision};

use super::{Place, leading::LeadingEntries};

/// The position up to which a Change List was read before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Its `from` then.
    pub from: Option<DateTime>,
    /// The number of its entries then.
    pub entries: u64,
    /// The digest of all of them (O5). `None` if it was not kept; then nothing is known of the list.
    pub leading: Option<[u8; 32]>,
}

/// Looks at a Change List once before it is applied: where its times stand, in which order it is, and whether it
/// continues what was read before (CL-11, DIA-4, DIA-5).
#[derive(Debug)]
pub(crate) struct Survey {
    from: Option<DateTime>,
    until: Option<DateTime>,
    mark: Option<Mark>,
    mark_holds: bool,
    latest: Option<DateTime>,
    since: Option<DateTime>,
    last_before: u64,
    newest_first: bool,
    entries: u64,
    datetimes: TimeOrder,
    lastmods: TimeOrder,
    leading: LeadingEntries,
}

/// The order of the times of one kind in a list.
#[derive(Debug)]
struct TimeOrder {
    count: u64,
    rising: bool,
    falling: bool,
    /// `true` if no time is later than the one before it.
    sinking: bool,
    inside: bool,
    previous: Option<DateTime>,
    newest: Option<DateTime>,
}

impl TimeOrder {
    const fn new() -> Self {
        Self {
            count: 0,
            rising: true,
            falling: true,
            sinking: true,
            inside: true,
            previous: None,
            newest: None,
        }
    }

    fn observe(&mut self, time: Option<DateTime>, from: Option<DateTime>, until: Option<DateTime>) {
        let Some(time) = time else { return };
        self.count += 1;
        if let Some(previous) = self.previous {
            self.rising &= previous.instant() <= time.instant();
            self.falling &= previous.instant() > time.instant();
            self.sinking &= previous.instant() >= time.instant();
        }
        self.inside &= from.is_none_or(|from| from.instant() <= time.instant())
            && until.is_none_or(|until| time.instant() < until.end());
        self.newest = self.newest.max(Some(time));
        self.previous = Some(time);
    }
}

/// The field that has the time of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeField {
    /// In `datetime`, as 1.1 has it.
    Datetime,
    /// In `lastmod`, as 1.0 has it.
    Lastmod,
    /// Nowhere: only the order tells.
    Position,
}

/// The order of the changes in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Oldest first (CL-6).
    OldestFirst,
    /// Newest first, as the drafts of early 2013 have it.
    NewestFirst,
}

/// The result of a survey.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Shape {
    /// The field that has the times.
    pub times: TimeField,
    /// Times later than this are no times.
    pub latest: Option<DateTime>,
    /// The order.
    pub order: Order,
    /// The number of entries.
    pub entries: u64,
    /// The newest time of a change.
    pub newest: Option<DateTime>,
    /// The number of leading entries that were read before, by the mark.
    pub known: u64,
    /// `true` if this is an older copy of the list that was read before (D36).
    pub went_back: bool,
    /// The digest of all entries.
    pub leading: [u8; 32],
    /// Only changes at this time or later count.
    since: Option<DateTime>,
    /// The end of the interval that the list is complete for.
    until: Option<DateTime>,
    /// The place of the last entry whose own time is before `since`; 0 if the times do not rise, and so say nothing of
    /// others.
    last_before: u64,
}

impl Survey {
    /// Begins to look at a list with this root, of which so much was read before. Times later than `latest` are no
    /// times: a clock that is far ahead would hide every change that comes after it (D38).
    pub(crate) fn new(root: Option<&Metadata>, mark: Option<&Mark>, latest: Option<DateTime>) -> Self {
        let from = root.and_then(|root| root.from);
        let same_start = |mark: &&Mark| mark.from == from;
        Self {
            from,
            until: root.and_then(|root| root.until),
            // A list with another beginning was closed or rewritten: nothing is known of its entries.
            mark: mark.filter(same_start).cloned(),
            mark_holds: false,
            latest,
            since: None,
            last_before: 0,
            newest_first: false,
            entries: 0,
            datetimes: TimeOrder::new(),
            lastmods: TimeOrder::new(),
            leading: LeadingEntries::new(),
        }
    }

    /// Looks for changes at a time or later; `None` if all count.
    #[must_use]
    pub(crate) fn since(self, since: Option<DateTime>) -> Self {
        Self { since, ..self }
    }

    /// Reads a list of a dialect that has the newest change first, also if several changes have one time (DIA-5).
    #[must_use]
    pub(crate) fn newest_first(self, newest_first: bool) -> Self {
        Self { newest_first, ..self }
    }

    /// Takes the next entry.
    pub(crate) fn observe(&mut self, entry: &Entry) {
        self.entries += 1;
        let datetime = plausible(entry.metadata.datetime, self.latest);
        self.datetimes.observe(datetime, self.from, self.until);
        if is_over(datetime, self.since) {
            self.last_before = self.entries;
        }
        // Both kinds are watched in one reading: which of them has the times of changes is known at the end only.
        self.lastmods.observe(plausible(entry.lastmod, self.latest), self.from, self.until);
        self.leading.add(entry);
        if let Some(mark) = &self.mark
            && mark.entries == self.entries
        {
            // By the digest of all of them: an entry at the same place may be about another change (O5).
            self.mark_holds = mark.leading == Some(self.leading.digest());
        }
    }

    /// Returns the result.
    pub(crate) fn finish(self) -> Shape {
        let Self { datetimes, lastmods, entries, .. } = &self;
        // One `datetime` is enough: entries without it take the time of the one before (AMB-B16). `lastmod` is the time
        // of changes only if all entries have one, within the interval and in an order; else it is that of the
        // resources.
        let times = if datetimes.count > 0 {
            TimeField::Datetime
        } else if *entries > 0
            && lastmods.count == *entries
            && lastmods.inside
            && (lastmods.rising || lastmods.falling || self.newest_first && lastmods.sinking)
        {
            TimeField::Lastmod
        } else {
            TimeField::Position
        };
        let run = if times == TimeField::Lastmod { lastmods } else { datetimes };
        // Only if every time falls: read the wrong way round, a list would bring back what it deletes.
        let is_falling = run.count == *entries && *entries > 1 && run.falling && run.inside;
        let newest_first = self.newest_first || is_falling;
        let mark_entries = self.mark.as_ref().map_or(0, |mark| mark.entries);
        Shape {
            times,
            latest: self.latest,
            order: if newest_first { Order::NewestFirst } else { Order::OldestFirst },
            entries: *entries,
            newest: run.newest,
            // Newest first, new entries stand before the known ones.
            known: if self.mark_holds && !newest_first { mark_entries } else { 0 },
            // Without a beginning, or with one of the same day, a shorter list may as well be the next one (O9).
            went_back: self.from.is_some_and(|from| from.precision() >= Precision::Second)
                && *entries < mark_entries,
            leading: self.leading.digest(),
            since: self.since,
            until: self.until,
            last_before: if datetimes.rising && !newest_first { self.last_before } else { 0 },
        }
    }
}

/// Returns a time unless it is later than the latest that can be.
pub(crate) fn plausible(time: Option<DateTime>, latest: Option<DateTime>) -> Option<DateTime> {
    time.filter(|time| latest.is_none_or(|latest| time.instant() <= latest.instant()))
}

/// Returns `true` if a time has passed at `since`.
fn is_over(time: Option<DateTime>, since: Option<DateTime>) -> bool {
    time.zip(since).is_some_and(|(time, since)| time.end() <= since.instant())
}

impl Shape {
    /// The place of the next entry; `inherited` is the time of the one before and is carried on (AMB-B16).
    pub(crate) fn place(&self, entry: &Entry, inherited: &mut Option<DateTime>, ordinal: u64) -> Place {
        if self.order == Order::NewestFirst {
            // The one before is the later one: its time says nothing.
            return Place { time: self.own_time(entry), ordinal: self.entries.saturating_sub(ordinal) };
        }
        *inherited = self.own_time(entry).or(*inherited);
        Place { time: *inherited, ordinal }
    }

    /// Returns `true` if an entry is known to be older than the changes that count. Without a time of its own it is
    /// that only if an older one follows it, or all of the list is older: it happened at the time of the one before it
    /// or at any time later (O3).
    pub(crate) fn is_before(&self, entry: &Entry, ordinal: u64) -> bool {
        match self.own_time(entry) {
            Some(time) => is_over(Some(time), self.since),
            None => ordinal < self.last_before || is_over(self.until, self.since),
        }
    }

    /// Returns the time that an entry says of its change.
    pub(crate) fn own_time(&self, entry: &Entry) -> Option<DateTime> {
        let own = match self.times {
            TimeField::Datetime => entry.metadata.datetime,
            TimeField::Lastmod => entry.lastmod,
            TimeField::Position => None,
        };
        plausible(own, self.latest)
    }
}

#[cfg(test)]
mod tests;
