//! Change Lists and their indexes, and questions to any document whose entries are changes.

use std::collections::BTreeMap;

use super::{
    ChangeTimes, Collected, Entry, TimeRange,
    kind::{self, ChangesKind},
};
use crate::value::{Change, DateTime, Uri};

/// A Change List (§12.1): the changes of a set of resources since `from`, oldest first.
///
/// ```
/// use resourcesync::{Change, Entry, document::{ChangeList, TimeRange}};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (noon, one) = ("2013-01-03T12:00:00Z".parse()?, "2013-01-03T13:00:00Z".parse()?);
/// let uri: resourcesync::Uri = "http://example.com/res1".parse()?;
/// let list = ChangeList::new("2013-01-03T00:00:00Z".parse()?, "http://example.com/caps.xml".parse()?)
///     .push(Entry::changed(uri.clone(), Change::Created, noon))
///     .push(Entry::changed(uri.clone(), Change::Deleted, one));
/// assert_eq!(list.changes().count(), 2);
/// assert_eq!(list.of_type(&Change::Deleted).count(), 1);
/// assert_eq!(list.latest_for(&uri).unwrap().metadata.change, Some(Change::Deleted));
/// assert_eq!(list.latest_per_uri().len(), 1);
/// assert_eq!(list.in_range(TimeRange::new(Some(one), None)).len(), 1);
/// assert_eq!(list.change_times(None).of(&list.entries[0]), Some(noon));
/// # Ok(())
/// # }
/// ```
pub type ChangeList = Collected<kind::ChangeList>;

/// A Change List Index (§12.2): Change Lists, oldest first.
///
/// ```
/// use resourcesync::document::ChangeListIndex;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let index = ChangeListIndex::new("2013-01-01T00:00:00Z".parse()?, "http://example.com/caps.xml".parse()?);
/// assert!(!index.is_closed());
/// # Ok(())
/// # }
/// ```
pub type ChangeListIndex = Collected<kind::ChangeListIndex>;

impl<K: ChangesKind> Collected<K> {
    /// Determines where the document states the times of its changes (DIA-4). Times after `latest` are ignored.
    pub fn change_times(&self, latest: Option<DateTime>) -> ChangeTimes {
        ChangeTimes::judge(&self.header, &self.entries, latest)
    }

    /// Returns the changes, oldest first: in document order, reversed only if the document lists the newest first
    /// (DIA-5).
    pub fn changes(&self) -> impl Iterator<Item = &Entry> {
        let newest_first = self.change_times(None).newest_first;
        let count = self.entries.len();
        (0..count).map(move |index| &self.entries[if newest_first { count - 1 - index } else { index }])
    }

    /// Returns the changes of one type.
    pub fn of_type<'a>(&'a self, change: &'a Change) -> impl Iterator<Item = &'a Entry> {
        self.changes().filter(move |entry| entry.metadata.change.as_ref() == Some(change))
    }

    /// Returns the changes that happened in a range, both ends included. A change without a time counts as between
    /// its neighbours, and is left out only if both neighbours are outside.
    pub fn in_range(&self, range: TimeRange) -> Vec<&Entry> {
        let times = self.change_times(None);
        let changes: Vec<&Entry> = self.changes().collect();
        let mut after = self.header.metadata.as_ref().and_then(|md| md.until);
        let mut latest = vec![after; changes.len()];
        for (entry, latest) in changes.iter().zip(&mut latest).rev() {
            after = times.of(entry).or(after);
            *latest = after;
        }
        let mut before = self.header.metadata.as_ref().and_then(|md| md.from);
        let mut within = |entry: &Entry, latest: Option<DateTime>| {
            before = times.of(entry).or(before);
            range.overlaps(before.as_ref(), latest.as_ref())
        };
        changes
            .into_iter()
            .zip(latest)
            .filter(|(entry, latest)| within(entry, *latest))
            .map(|(entry, _)| entry)
            .collect()
    }

    /// Returns the last change of a resource (DST-6).
    pub fn latest_for(&self, uri: &Uri) -> Option<&Entry> {
        self.changes().filter(|entry| entry.loc == *uri).last()
    }

    /// Returns the last change of each resource (DST-6).
    pub fn latest_per_uri(&self) -> BTreeMap<&Uri, &Entry> {
        self.changes().map(|entry| (&entry.loc, entry)).collect()
    }
}

impl Entry {
    /// Creates the entry of a change with its time (CL-8, CL-10).
    pub fn changed(uri: Uri, change: Change, datetime: DateTime) -> Self {
        let mut entry = Self::new(uri);
        (entry.metadata.change, entry.metadata.datetime) = (Some(change), Some(datetime));
        entry
    }
}
