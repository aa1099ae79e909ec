//! The times of changes. Only the whole document shows where they are stated, never one entry (DIA-4, DIA-5).

use super::{Entry, Header};
use crate::{
    dialect::Dialect,
    value::{Capability, DateTime},
};

/// The place where a document states the times of its changes, and the order they are in (DIA-4, CL-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeTimes {
    /// The value of an entry that is the time of its change.
    pub source: TimeSource,
    /// `true` if the newest change comes first, so that the document is read backwards (DIA-5).
    pub newest_first: bool,
}

/// The value of an entry that is the time of its change (DIA-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeSource {
    /// The `datetime` attribute, as in 1.1; an entry without it has only its position.
    Datetime,
    /// `lastmod`, as in 1.0 and earlier.
    LastMod,
    /// Nothing: only the order of entries is known, so a reader applies again what may have been applied.
    Unknown,
}

impl ChangeTimes {
    /// Judges a document by its entries, which are looked at one after the other. `now` bounds an open interval, if it
    /// is known.
    ///
    /// ```
    /// use resourcesync::document::{ChangeList, ChangeTimes, TimeSource};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let list = ChangeList::new("2013-01-03T00:00:00Z".parse()?, "http://example.com/caps.xml".parse()?);
    /// assert_eq!(ChangeTimes::judge(&list.header, &list.entries, None).source, TimeSource::Unknown);
    /// # Ok(())
    /// # }
    /// ```
    pub fn judge<'a>(
        header: &Header,
        entries: impl IntoIterator<Item = &'a Entry>,
        now: Option<DateTime>,
    ) -> Self {
        let mut judge = ChangeTimesJudge::new(header, now);
        entries.into_iter().for_each(|entry| judge.observe(entry));
        judge.finish()
    }

    /// Returns the time of a change; `None` if the document does not state it.
    pub fn of(&self, entry: &Entry) -> Option<DateTime> {
        match self.source {
            TimeSource::Datetime => entry.metadata.datetime,
            TimeSource::LastMod => entry.lastmod,
            TimeSource::Unknown => None,
        }
    }
}

/// Judges the times of a document while its entries pass, in constant memory.
#[derive(Clone, Debug)]
struct ChangeTimesJudge {
    dialect: Dialect,
    from: Option<DateTime>,
    until: Option<DateTime>,
    entries: u64,
    any_datetime: bool,
    datetime: Sequence,
    lastmod: Sequence,
}

/// The properties of one sequence of times: complete, inside the interval, rising or falling.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    complete: bool,
    inside: bool,
    never_falls: bool,
    always_falls: bool,
    last: Option<DateTime>,
}

impl Sequence {
    const START: Self =
        Self { complete: true, inside: true, never_falls: true, always_falls: true, last: None };

    fn observe(&mut self, time: Option<DateTime>, from: Option<DateTime>, until: Option<DateTime>) {
        let Some(time) = time else {
            self.complete = false;
            return;
        };
        self.inside &= from.is_none_or(|from| from.instant() < time.end())
            && until.is_none_or(|until| time.instant() < until.end());
        if let Some(last) = self.last.replace(time) {
            self.never_falls &= last.instant() <= time.instant();
            self.always_falls &= last.instant() > time.instant();
        }
    }
}

impl ChangeTimesJudge {
    /// Begins with the header. `now` bounds an open interval, if it is known.
    fn new(header: &Header, now: Option<DateTime>) -> Self {
        let md = header.metadata.as_ref();
        Self {
            dialect: header.dialect,
            from: md.and_then(|md| md.from),
            until: md.and_then(|md| md.until.or(md.modified)).or(now),
            entries: 0,
            any_datetime: false,
            datetime: Sequence::START,
            lastmod: Sequence::START,
        }
    }

    /// Takes the next entry.
    fn observe(&mut self, entry: &Entry) {
        self.entries += 1;
        self.any_datetime |= entry.metadata.datetime.is_some();
        self.datetime.observe(entry.metadata.datetime, self.from, self.until);
        self.lastmod.observe(entry.lastmod, self.from, self.until);
    }

    /// Returns the judgement.
    fn finish(self) -> ChangeTimes {
        let times = if self.any_datetime { self.datetime } else { self.lastmod };
        let falls = self.entries > 1 && times.complete && times.inside && times.always_falls;
        let newest_first = self.dialect.lists_newest_first() || falls;
        let usable =
            times.complete && times.inside && (times.never_falls || newest_first) && self.entries > 0;
        let source = match (self.any_datetime, usable) {
            (true, _) => TimeSource::Datetime,
            (false, true) => TimeSource::LastMod,
            (false, false) => TimeSource::Unknown,
        };
        ChangeTimes { source, newest_first }
    }
}

impl Header {
    /// Returns `true` if the document never changes again: a change document with `until` (TIME-6), in a dialect in
    /// which `until` closes (DIA-2, DIA-3).
    pub fn is_closed(&self) -> bool {
        let changes = matches!(
            self.capability(),
            Some(Capability::ChangeList | Capability::ChangeDump | Capability::ChangeDumpManifest)
        );
        let until = self.metadata.as_ref().and_then(|md| md.until);
        changes && until.is_some() && self.dialect.until_closes()
    }

    /// Describes the document for people: its root element and its capability.
    pub fn describe(&self) -> String {
        let root = match self.form {
            super::Form::List => "urlset",
            super::Form::Index => "sitemapindex",
        };
        match self.capability() {
            Some(capability) => format!("a {root} with capability \"{capability}\""),
            None => format!("a {root} without a capability"),
        }
    }
}
