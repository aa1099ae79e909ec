//! The times of changes. They can be determined only from the whole document, not from one entry (DIA-4, DIA-5).

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
    /// `true` if no time is earlier than the one before it.
    pub never_falls: bool,
    /// The newest time of a change; `None` if the document states none that can be.
    pub newest: Option<DateTime>,
}

/// The value of an entry that is the time of its change (DIA-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeSource {
    /// The `datetime` attribute, as in 1.1; an entry without it has only its position.
    Datetime,
    /// `lastmod`, as in 1.0 and earlier.
    LastMod,
    /// Nowhere: only the order of entries is known, so a reader may apply changes again.
    Unknown,
}

impl ChangeTimes {
    /// Judges a document by its entries, which are looked at one after the other. Times after `latest` are no times: a
    /// clock that is far ahead says nothing.
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
        latest: Option<DateTime>,
    ) -> Self {
        let mut judge = ChangeTimesJudge::new(header, latest);
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

/// Judges the times of a document while its entries pass, in constant memory (DIA-4).
///
/// ```
/// use resourcesync::{Change, Entry, document::{ChangeList, ChangeTimesJudge, TimeSource}};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let list = ChangeList::new("2013-01-03T00:00:00Z".parse()?, "http://example.com/caps.xml".parse()?);
/// let mut judge = ChangeTimesJudge::new(&list.header, None);
/// let noon = "2013-01-03T12:00:00Z".parse()?;
/// judge.observe(&Entry::changed("http://example.com/res1".parse()?, Change::Updated, noon));
/// assert_eq!(judge.finish().source, TimeSource::Datetime);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ChangeTimesJudge {
    dialect: Dialect,
    from: Option<DateTime>,
    until: Option<DateTime>,
    latest: Option<DateTime>,
    entries: u64,
    /// `true` if an entry has a `datetime`, also one after `latest`.
    has_datetimes: bool,
    datetime: Sequence,
    lastmod: Sequence,
}

/// The properties of one sequence of times: inside the interval, rising or falling.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    count: u64,
    inside: bool,
    never_falls: bool,
    never_rises: bool,
    always_falls: bool,
    last: Option<DateTime>,
    newest: Option<DateTime>,
}

impl Sequence {
    const START: Self = Self {
        count: 0,
        inside: true,
        never_falls: true,
        never_rises: true,
        always_falls: true,
        last: None,
        newest: None,
    };

    fn observe(&mut self, time: Option<DateTime>, from: Option<DateTime>, until: Option<DateTime>) {
        let Some(time) = time else { return };
        self.count += 1;
        self.inside &= from.is_none_or(|from| from.instant() < time.end())
            && until.is_none_or(|until| time.instant() < until.end());
        self.newest = self.newest.max(Some(time));
        if let Some(last) = self.last.replace(time) {
            self.never_falls &= last.instant() <= time.instant();
            self.never_rises &= last.instant() >= time.instant();
            self.always_falls &= last.instant() > time.instant();
        }
    }
}

impl ChangeTimesJudge {
    /// Begins with the header. Times after `latest` are no times.
    pub fn new(header: &Header, latest: Option<DateTime>) -> Self {
        let md = header.metadata.as_ref();
        Self {
            dialect: header.dialect,
            from: md.and_then(|md| md.from),
            until: md.and_then(|md| md.until.or(md.modified)),
            latest,
            entries: 0,
            has_datetimes: false,
            datetime: Sequence::START,
            lastmod: Sequence::START,
        }
    }

    /// Takes the next entry.
    pub fn observe(&mut self, entry: &Entry) {
        let is_possible =
            |time: &DateTime| self.latest.is_none_or(|latest| time.instant() <= latest.instant());
        let (datetime, lastmod) =
            (entry.metadata.datetime.filter(is_possible), entry.lastmod.filter(is_possible));
        self.entries += 1;
        self.has_datetimes |= entry.metadata.datetime.is_some();
        // Both kinds are watched in one reading: which of them has the times of changes is known at the end only.
        self.datetime.observe(datetime, self.from, self.until);
        self.lastmod.observe(lastmod, self.from, self.until);
    }

    /// Returns the judgement.
    pub fn finish(self) -> ChangeTimes {
        // One `datetime` is enough: entries without it take the time of the one before (AMB-B16). `lastmod` is the time
        // of changes only if all entries have one, within the interval and in an order; else it is that of the
        // resources. A `datetime` that cannot be shows all the same that the document has its times there (TIME-9).
        let times = if self.has_datetimes { self.datetime } else { self.lastmod };
        let is_complete = self.entries > 0 && times.count == self.entries && times.inside;
        // Only if every time falls: a list read in the wrong order would restore deleted resources.
        let falls = self.entries > 1 && is_complete && times.always_falls;
        let is_draft = self.dialect.lists_newest_first();
        let is_ordered = times.never_falls || falls || is_draft && times.never_rises;
        let source = match self.has_datetimes {
            true => TimeSource::Datetime,
            false if is_complete && is_ordered => TimeSource::LastMod,
            false => TimeSource::Unknown,
        };
        ChangeTimes {
            source,
            newest_first: is_draft || falls,
            never_falls: times.never_falls,
            newest: times.newest.filter(|_| source != TimeSource::Unknown),
        }
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
