//! The first reading of a Change List: its order, its times and the entries that are new.

use resourcesync::{
    DateTime, Entry,
    document::{ChangeTimes, ChangeTimesJudge, Header},
    value::Precision,
};

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
    /// `true` if later changes of the same resources replace entries of the list, so that it may have fewer now.
    pub may_lose_entries: bool,
}

/// Reads a Change List once before it is applied: where its times are stated, its order, and if it continues the list
/// that was read before (CL-11, DIA-4, DIA-5).
#[derive(Debug)]
pub(crate) struct Survey {
    judge: ChangeTimesJudge,
    from: Option<DateTime>,
    /// The beginning of the list by its index, if the list does not state it.
    begins: Option<DateTime>,
    until: Option<DateTime>,
    mark: Option<Mark>,
    mark_holds: bool,
    latest: Option<DateTime>,
    since: Option<DateTime>,
    last_before: u64,
    /// The number of entries with a time up to `since`, and `true` if one has no time.
    up_to_since: u64,
    has_undated: bool,
    /// The time before, and `true` if one is older than the one before it.
    before: Option<DateTime>,
    falls: bool,
    /// `true` if an entry states a time that no clock has reached.
    has_impossible: bool,
    /// `true` if what is looked at was listed beside no inventory.
    is_alone: bool,
    /// `true` if it was listed beside the inventory that was applied last.
    is_beside_applied: bool,
    /// `true` if an entry is older than the beginning of its list.
    has_earlier: bool,
    entries: u64,
    leading: LeadingEntries,
}

/// The result of a survey.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Shape {
    /// The field that has the times, and their order.
    pub times: ChangeTimes,
    /// Times later than this are no times.
    pub latest: Option<DateTime>,
    /// The number of entries.
    pub entries: u64,
    /// The number of leading entries that were read before, by the mark.
    pub known: u64,
    /// The number of entries without a usable `loc`, which count nowhere else.
    pub unusable: u64,
    /// `true` if this is an older copy of the list that was read before (D36).
    pub went_back: bool,
    /// `true` if changes that were read before are missing, and others came later: the Source was restored from a
    /// backup, or wrote the list anew (O411).
    pub lost_changes: bool,
    /// `true` if an entry states a time that no clock has reached, or beside the inventory that was applied one from before
    /// its list began, and the entries are in no order: nothing shows if it is older than the inventory (O774, O944).
    pub is_disordered: bool,
    /// The digest of all entries.
    pub leading: [u8; 32],
    /// Only changes at this time or later count.
    since: Option<DateTime>,
    /// Times before this are those of a clock that went back.
    begun: Option<DateTime>,
    /// The end of the interval that the list is complete for.
    until: Option<DateTime>,
    /// The position of the last entry whose own time is before `since`; 0 if the times do not rise, and so show
    /// nothing about others.
    last_before: u64,
}

impl Survey {
    /// Begins to survey a list with this header, of which `mark` records the part that was read before. Times later
    /// than `latest` are ignored: a clock that is far ahead would hide every later change (D38).
    pub(crate) fn new(header: &Header, mark: Option<&Mark>, latest: Option<DateTime>) -> Self {
        let root = header.metadata.as_ref();
        let from = root.and_then(|root| root.from);
        let same_start = |mark: &&Mark| mark.from == from;
        Self {
            judge: ChangeTimesJudge::new(header, latest),
            from,
            begins: None,
            until: root.and_then(|root| root.until),
            // A list with another beginning was closed or rewritten: nothing is known of its entries.
            mark: mark.filter(same_start).cloned(),
            mark_holds: false,
            latest,
            since: None,
            last_before: 0,
            up_to_since: 0,
            has_undated: false,
            before: None,
            falls: false,
            has_impossible: false,
            is_alone: false,
            is_beside_applied: false,
            has_earlier: false,
            entries: 0,
            leading: LeadingEntries::new(),
        }
    }

    /// Finds changes at a time or later; `None` if all count.
    #[must_use]
    pub(crate) fn since(self, since: Option<DateTime>) -> Self {
        Self { since, ..self }
    }

    /// Takes over the beginning of the list that its index states.
    #[must_use]
    pub(crate) fn beginning(self, begins: Option<DateTime>) -> Self {
        Self { begins, ..self }
    }

    /// Looks for what changed since an earlier run, without an inventory that says how it turned out.
    #[must_use]
    pub(crate) fn alone(self, is_alone: bool) -> Self {
        Self { is_alone, ..self }
    }

    /// Looks for changes beside the inventory that was applied last, which says as little how they turned out (O944).
    #[must_use]
    pub(crate) fn beside_applied(self, is_beside_applied: bool) -> Self {
        Self { is_beside_applied, ..self }
    }

    /// Takes the next entry.
    pub(crate) fn observe(&mut self, entry: &Entry) {
        self.entries += 1;
        self.judge.observe(entry);
        let time = plausible(entry.metadata.datetime, self.latest);
        self.has_undated |= time.is_none();
        self.has_impossible |= time.is_none() && entry.metadata.datetime.is_some();
        let since = self.since.zip(time);
        self.up_to_since += u64::from(since.is_some_and(|(since, time)| time.instant() < since.end()));
        let is_from_before = is_over(time, self.begun());
        self.has_earlier |= is_from_before;
        let time = time.filter(|_| !is_from_before);
        if is_over(time, self.since) {
            self.last_before = self.entries;
        }
        self.falls |= time.zip(self.before).is_some_and(|(time, before)| time.instant() < before.instant());
        self.before = time.or(self.before);
        self.leading.add(entry);
        if let Some(mark) = &self.mark
            && mark.entries == self.entries
        {
            // By the digest of all of them: an entry at the same place may be about another change (O5).
            self.mark_holds = mark.leading == Some(self.leading.digest());
        }
    }

    /// Returns the beginning of the list if entries from before it have the times of a clock that went back (O46). The list
    /// began before `since`, so its entries came later. `None` if there is a new inventory, which decides about them.
    fn begun(&self) -> Option<DateTime> {
        self.from
            .or(self.begins)
            .filter(|_| self.is_alone || self.is_beside_applied)
            .filter(|from| self.since.is_some_and(|since| from.instant() < since.end()))
    }

    /// Returns `true` if the list has fewer changes up to the time that was reached than when it was read, and has later
    /// ones, or was closed later (O764). Entries without a time would count in neither.
    fn lost_changes(&self) -> bool {
        let had = self.mark.as_ref().filter(|mark| mark.leading.is_some()).map_or(0, |mark| mark.entries);
        let has_later = self.entries > self.up_to_since || self.was_closed_since();
        self.since.is_some()
            && self.keeps_entries()
            && !self.mark_holds
            && !self.has_undated
            && has_later
            && self.up_to_since < had
    }

    /// Returns `true` if the list ends after the time that was reached: it was closed since then, so it is not an older one.
    fn was_closed_since(&self) -> bool {
        let until = plausible(self.until, self.latest);
        until.zip(self.since).is_some_and(|(until, since)| since.end() <= until.instant())
    }

    /// Returns `true` if the list has each entry that it had before. Without a beginning, or with one of the same day, a
    /// shorter list may as well be the next one (O9).
    fn keeps_entries(&self) -> bool {
        let is_precise = self.from.is_some_and(|from| from.precision() >= Precision::Second);
        is_precise && !self.mark.as_ref().is_some_and(|mark| mark.may_lose_entries)
    }

    /// Returns the result.
    pub(crate) fn finish(self) -> Shape {
        let begun = self.begun();
        let (lost_changes, keeps_entries) = (self.lost_changes(), self.keeps_entries());
        let (entries, times) = (self.entries, self.judge.finish());
        // Only the order of the list shows which of them the inventory has: without it, their times count.
        let is_open = self.has_earlier && !self.is_alone && (self.falls || times.newest_first);
        let mark_entries = self.mark.as_ref().map_or(0, |mark| mark.entries);
        Shape {
            times,
            latest: self.latest,
            entries,
            // If the newest come first, new entries are before the known ones.
            known: if self.mark_holds && !times.newest_first { mark_entries } else { 0 },
            unusable: 0,
            went_back: keeps_entries && entries < mark_entries && !lost_changes,
            lost_changes,
            is_disordered: self.has_impossible && self.falls || is_open,
            leading: self.leading.digest(),
            since: self.since,
            begun: begun.filter(|_| !is_open),
            until: self.until,
            last_before: if !self.falls && !times.newest_first { self.last_before } else { 0 },
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
    /// Returns the place of the next entry; `inherited` is the time of the one before and is carried on (AMB-B16).
    pub(crate) fn place(&self, entry: &Entry, inherited: &mut Option<DateTime>, ordinal: u64) -> Place {
        if self.times.newest_first {
            // The entry before is the later one: its time shows nothing.
            return Place { time: self.own_time(entry), ordinal: self.entries.saturating_sub(ordinal) };
        }
        *inherited = self.own_time(entry).or(*inherited);
        Place { time: *inherited, ordinal }
    }

    /// Returns the earliest time at which an entry without a time can have changed. It is not older than its list, which
    /// begins at a time; if that is unknown, not older than its own bytes. In a list without any times it is not older than
    /// the bytes of the entries before it either: an inventory may be newer than the beginning of the list. `modified` is
    /// the newest time of those, and is carried on.
    pub(crate) fn earliest(
        &self,
        entry: &Entry,
        begins: Option<DateTime>,
        modified: &mut Option<DateTime>,
    ) -> Option<DateTime> {
        let own = plausible(entry.lastmod, self.latest);
        if self.times.newest_first || self.times.newest.is_some() {
            return begins.or(own);
        }
        // Bytes from after the end of their list have the time of a clock that was ahead.
        let is_inside = |own: &DateTime| self.until.is_none_or(|until| own.instant() < until.end());
        *modified = own.filter(is_inside).max(*modified);
        begins.max(*modified)
    }

    /// Returns `true` if an entry is known to be older than the changes that count. An entry without a time is known
    /// to be so only if an older one follows it, or if the complete list is older: it happened at the time of the one
    /// before it or at any later time (O3).
    pub(crate) fn is_before(&self, entry: &Entry, ordinal: u64) -> bool {
        match self.own_time(entry) {
            Some(time) => is_over(Some(time), self.since),
            None => ordinal < self.last_before || is_over(self.until, self.since),
        }
    }

    /// Returns the time that an entry states for its change.
    pub(crate) fn own_time(&self, entry: &Entry) -> Option<DateTime> {
        plausible(self.times.of(entry), self.latest).filter(|time| !is_over(Some(*time), self.begun))
    }
}

#[cfg(test)]
mod tests;
