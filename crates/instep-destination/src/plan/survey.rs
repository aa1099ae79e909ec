//! The first reading of a Change List: its order, its times and the entries that are new.

use resourcesync::{DateTime, Entry, Metadata};

use super::{Place, leading::LeadingEntries};

/// The position up to which a Change List was read before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
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
pub struct Survey {
    from: Option<DateTime>,
    until: Option<DateTime>,
    mark: Option<Mark>,
    mark_holds: bool,
    latest: Option<DateTime>,
    entries: u64,
    datetimes: Run,
    lastmods: Run,
    leading: LeadingEntries,
}

/// The order of the times of one kind in a list.
#[derive(Debug)]
struct Run {
    count: u64,
    rising: bool,
    falling: bool,
    inside: bool,
    previous: Option<DateTime>,
    newest: Option<DateTime>,
}

impl Run {
    const fn new() -> Self {
        Self { count: 0, rising: true, falling: true, inside: true, previous: None, newest: None }
    }

    fn observe(&mut self, time: Option<DateTime>, from: Option<DateTime>, until: Option<DateTime>) {
        let Some(time) = time else { return };
        self.count += 1;
        if let Some(previous) = self.previous {
            self.rising &= previous.instant() <= time.instant();
            self.falling &= previous.instant() > time.instant();
        }
        self.inside &= from.is_none_or(|from| from.instant() <= time.instant())
            && until.is_none_or(|until| time.instant() < until.end());
        self.newest = self.newest.max(Some(time));
        self.previous = Some(time);
    }
}

/// The field that has the time of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSource {
    /// In `datetime`, as 1.1 has it.
    Datetime,
    /// In `lastmod`, as 1.0 has it.
    Lastmod,
    /// Nowhere: only the order tells.
    Position,
}

/// In which order the changes stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Oldest first (CL-6).
    OldestFirst,
    /// Newest first, as the drafts of early 2013 have it.
    NewestFirst,
}

/// The result of a survey.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// The field that has the times.
    pub times: TimeSource,
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
}

impl Survey {
    /// Begins to look at a list with this root, of which so much was read before. Times later than `latest` are no times: a clock
    /// that is far ahead would hide every change that comes after it (D38).
    pub fn new(root: Option<&Metadata>, mark: Option<&Mark>, latest: Option<DateTime>) -> Self {
        let from = root.and_then(|root| root.from);
        let same_start = |mark: &&Mark| mark.from == from;
        Self {
            from,
            until: root.and_then(|root| root.until),
            mark: mark.filter(same_start).cloned(),
            mark_holds: false,
            latest,
            entries: 0,
            datetimes: Run::new(),
            lastmods: Run::new(),
            leading: LeadingEntries::new(),
        }
    }

    /// Takes the next entry.
    pub fn observe(&mut self, entry: &Entry) {
        self.entries += 1;
        self.datetimes.observe(plausible(entry.metadata.datetime, self.latest), self.from, self.until);
        self.lastmods.observe(plausible(entry.lastmod, self.latest), self.from, self.until);
        self.leading.add(entry);
        if let Some(mark) = &self.mark
            && mark.entries == self.entries
        {
            self.mark_holds = mark.leading == Some(self.leading.digest());
        }
    }

    /// Returns the result.
    pub fn finish(self) -> Shape {
        let Self { datetimes, lastmods, entries, .. } = &self;
        let times = if datetimes.count > 0 {
            TimeSource::Datetime
        } else if *entries > 0
            && lastmods.count == *entries
            && lastmods.inside
            && (lastmods.rising || lastmods.falling)
        {
            TimeSource::Lastmod
        } else {
            TimeSource::Position
        };
        let run = if times == TimeSource::Lastmod { lastmods } else { datetimes };
        let newest_first = run.count == *entries && *entries > 1 && run.falling && run.inside;
        let mark_entries = self.mark.as_ref().map_or(0, |mark| mark.entries);
        Shape {
            times,
            latest: self.latest,
            order: if newest_first { Order::NewestFirst } else { Order::OldestFirst },
            entries: *entries,
            newest: run.newest,
            known: if self.mark_holds && !newest_first { mark_entries } else { 0 },
            went_back: *entries < mark_entries,
            leading: self.leading.digest(),
        }
    }
}

/// Returns a time unless it is later than the latest that can be.
pub fn plausible(time: Option<DateTime>, latest: Option<DateTime>) -> Option<DateTime> {
    time.filter(|time| latest.is_none_or(|latest| time.instant() <= latest.instant()))
}

impl Shape {
    /// The place of the next entry; `inherited` is the time of the one before and is carried on (AMB-B16).
    pub fn place(&self, entry: &Entry, inherited: &mut Option<DateTime>, ordinal: u64) -> Place {
        let own = match self.times {
            TimeSource::Datetime => entry.metadata.datetime,
            TimeSource::Lastmod => entry.lastmod,
            TimeSource::Position => None,
        };
        *inherited = plausible(own, self.latest).or(*inherited);
        Place { time: *inherited, ordinal }
    }
}

#[cfg(test)]
mod tests {
    use resourcesync::{Change, Uri};

    use super::*;

    fn time(second: i64) -> DateTime {
        DateTime::from_unix_seconds(second)
    }

    fn entry(name: &str, datetime: Option<i64>, lastmod: Option<i64>) -> Entry {
        let mut entry = Entry::new(Uri::parse(&format!("http://example.com/{name}")).unwrap());
        entry.metadata.change = Some(Change::Updated);
        entry.metadata.datetime = datetime.map(time);
        entry.lastmod = lastmod.map(time);
        entry
    }

    fn survey(from: i64, entries: &[Entry], mark: Option<&Mark>) -> Shape {
        let root = {
            let mut root = Metadata::new();
            root.from = Some(time(from));
            root
        };
        let mut survey = Survey::new(Some(&root), mark, None);
        entries.iter().for_each(|entry| survey.observe(entry));
        survey.finish()
    }

    #[test]
    fn an_entry_without_time_inherits_its_position() {
        let entries = [entry("a", Some(10), None), entry("b", None, None), entry("c", Some(12), None)];
        let shape = survey(0, &entries, None);
        let mut inherited = None;
        let places: Vec<_> =
            entries.iter().zip(0..).map(|(entry, at)| shape.place(entry, &mut inherited, at).time).collect();
        assert_eq!(places, [Some(time(10)), Some(time(10)), Some(time(12))]);
    }

    #[test]
    fn lastmod_is_a_change_time_only_in_a_document_of_1_0() {
        let of_1_0 = [entry("a", None, Some(10)), entry("b", None, Some(12))];
        assert_eq!(survey(0, &of_1_0, None).times, TimeSource::Lastmod);
        let before_from = [entry("a", None, Some(10)), entry("b", None, Some(12))];
        assert_eq!(survey(11, &before_from, None).times, TimeSource::Position);
        let unordered = [entry("a", None, Some(10)), entry("b", None, Some(12)), entry("c", None, Some(11))];
        assert_eq!(survey(0, &unordered, None).times, TimeSource::Position);
        let one_lacks_it = [entry("a", None, Some(10)), entry("b", None, None)];
        assert_eq!(survey(0, &one_lacks_it, None).times, TimeSource::Position);
    }

    #[test]
    fn a_list_that_strictly_falls_is_newest_first() {
        let falling = [entry("a", Some(12), None), entry("b", Some(11), None)];
        assert_eq!(survey(0, &falling, None).order, Order::NewestFirst);
        let level = [entry("a", Some(12), None), entry("b", Some(12), None)];
        assert_eq!(survey(0, &level, None).order, Order::OldestFirst);
    }

    #[test]
    fn b4_a_time_far_ahead_is_no_time() {
        let entries = [entry("a", Some(10), None), entry("b", Some(9_999), None), entry("c", Some(12), None)];
        let mut survey = Survey::new(None, None, Some(time(100)));
        entries.iter().for_each(|entry| survey.observe(entry));
        let shape = survey.finish();
        assert_eq!(shape.newest, Some(time(12)));
        let mut inherited = None;
        let places: Vec<_> =
            entries.iter().zip(0..).map(|(entry, at)| shape.place(entry, &mut inherited, at).time).collect();
        assert_eq!(places, [Some(time(10)), Some(time(10)), Some(time(12))]);
    }

    #[test]
    fn what_was_read_before_is_known_by_all_leading_entries() {
        let entries = [entry("a", None, None), entry("b", None, None), entry("c", None, None)];
        let leading = Some(survey(0, &entries[..2], None).leading);
        let mark = Mark { from: Some(time(0)), entries: 2, leading };
        assert_eq!(survey(0, &entries, Some(&mark)).known, 2);
        let rewritten = [entry("x", None, None), entry("y", None, None), entry("c", None, None)];
        assert_eq!(survey(0, &rewritten, Some(&mark)).known, 0);
        assert!(survey(0, &entries[..1], Some(&mark)).went_back);
        assert!(!survey(1, &entries[..1], Some(&mark)).went_back, "a new list of the same name");
    }

    #[test]
    fn o5_a_new_entry_in_the_middle_is_new_although_the_place_of_the_last_one_looks_as_before() {
        let read = [entry("a", Some(12), None), entry("b", Some(10), None)];
        let leading = Some(survey(0, &read, None).leading);
        let mark = Mark { from: Some(time(0)), entries: 2, leading };
        let [a, b] = read;
        assert_eq!(survey(0, &[a.clone(), b.clone(), b.clone()], Some(&mark)).known, 2, "it grew at its end");
        let rewritten = [entry("new", Some(11), None), b, a];
        assert_eq!(survey(0, &rewritten, Some(&mark)).known, 0);
    }

    #[test]
    fn o5_a_mark_without_a_digest_knows_nothing() {
        let mark = Mark { from: Some(time(0)), entries: 1, leading: None };
        assert_eq!(survey(0, &[entry("a", None, None)], Some(&mark)).known, 0);
    }
}
