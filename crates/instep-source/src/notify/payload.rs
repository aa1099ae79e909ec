//! The documents that are sent as notifications (CN-6, FN-1). PURE: changes in, documents out.

use bytes::Bytes;
use resourcesync::{
    Capability, Change, DateTime, DocumentWriter, Entry, Form, Header, Link, Metadata, Relation, Uri,
    WriteOptions,
};

use crate::{
    Error,
    render::{EntryMeter, Fitting, SetPlace},
};

/// The entries of one notification; a burst is split (CN-7). Each WebSocket has a buffer as long as the longest
/// message.
const MOST_ENTRIES: usize = 40;
/// The bytes of its entries, unless it has only one. A Destination refuses messages of more than 1 MiB, and a hub would
/// send it the same one again and again.
const MOST_BYTES: u64 = 256 << 10;
/// The notifications of one burst. Listeners see the gap after them and read the Change List, which is cheaper then.
const MOST_MESSAGES: usize = 32;

/// The notifications of one publication.
#[derive(Debug)]
pub(super) struct Burst {
    pub(super) messages: Vec<Bytes>,
    /// The end of the time that they cover.
    pub(super) until: DateTime,
    /// Some changes were left out.
    pub(super) is_cut: bool,
}

/// Returns Change Notifications for changes in their order. Each covers a span of time, and the spans join: `from` is
/// the end of the notification before, `until` the time of its last change.
pub(super) fn change_notifications(
    place: &SetPlace,
    mut from: DateTime,
    entries: impl IntoIterator<Item = Result<Entry, Error>>,
) -> Result<Burst, Error> {
    let mut messages = Vec::new();
    let mut entries = entries.into_iter().peekable();
    let mut meter = EntryMeter::new(&WriteOptions::new())?;
    while entries.peek().is_some() && messages.len() < MOST_MESSAGES {
        let (mut bundle, mut bytes) = (Vec::<Entry>::new(), 0);
        while bundle.len() < MOST_ENTRIES {
            let is_first = bundle.is_empty();
            let fits = |next: &Result<Entry, Error>| {
                bytes += next.as_ref().map_or(0, |entry| meter.bytes(entry));
                is_first || bytes <= MOST_BYTES
            };
            let Some(entry) = entries.next_if(fits) else { break };
            bundle.push(entry?);
        }
        let Some(until) = bundle.last().and_then(|entry| entry.metadata.datetime) else { break };
        let mut header = header(place, Capability::ChangeNotification);
        if let Some(metadata) = &mut header.metadata {
            (metadata.from, metadata.until) = (Some(from), Some(until));
        }
        messages.push(document(&header, &bundle)?);
        from = until;
    }
    Ok(Burst { messages, until: from, is_cut: entries.peek().is_some() })
}

/// Returns the Framework Notification about documents that were put in place; `None` if there are none.
pub(super) fn framework_notification(
    place: &SetPlace,
    written: &[WrittenDocument],
    now: DateTime,
) -> Result<Option<Bytes>, Error> {
    if written.is_empty() {
        return Ok(None);
    }
    let entries: Vec<Entry> = written.iter().map(|written| written.entry(now)).collect();
    document(&header(place, Capability::FrameworkNotification), &entries).map(Some)
}

/// A document that was put in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrittenDocument {
    pub(super) uri: Uri,
    pub(super) capability: Capability,
    pub(super) change: Change,
    /// The index above it (FN-3).
    pub(super) index: Option<Uri>,
}

impl WrittenDocument {
    fn entry(&self, now: DateTime) -> Entry {
        let mut entry = Entry::new(self.uri.clone());
        entry.metadata = Metadata::with_capability(self.capability.clone());
        entry.metadata.change = Some(self.change.clone());
        entry.metadata.datetime = Some(now);
        entry.links.extend(self.index.iter().map(|index| Link::new(Relation::Index, index.clone())));
        entry
    }
}

fn header(place: &SetPlace, capability: Capability) -> Header {
    let mut header = Header::new(Form::List, capability);
    header.links.push(Link::new(Relation::Up, place.capability_list()));
    header
}

fn document(header: &Header, entries: &[Entry]) -> Result<Bytes, Error> {
    let write = || {
        let mut writer = DocumentWriter::new(Vec::new(), header, WriteOptions::new())?;
        let fitting = Fitting::new(header, &WriteOptions::new());
        // Entries that are left out were reported with the Change List.
        entries.iter().try_for_each(|entry| fitting.write(&mut writer, entry).map(drop))?;
        writer.finish().map(Bytes::from)
    };
    write().map_err(|source| Error::Document { name: "notification".to_owned(), source })
}

#[cfg(test)]
mod tests {
    use resourcesync::{DocumentReader, ReadOptions};

    use super::*;
    use crate::render::SourcePlace;

    fn place() -> SetPlace {
        SourcePlace::new("http://example.com/").unwrap().set("")
    }

    fn read(bytes: &[u8]) -> (Header, Vec<Entry>) {
        let mut reader = DocumentReader::new(bytes, ReadOptions::new()).unwrap();
        let header = reader.header().clone();
        let entries = reader.entries().collect::<Result<_, _>>().unwrap();
        assert_eq!(reader.take_findings(), []);
        (header, entries)
    }

    fn changes(count: i64) -> impl Iterator<Item = Result<Entry, Error>> {
        (1..=count).map(|number| {
            let mut entry = Entry::new(Uri::parse(&format!("http://example.com/{number}")).unwrap());
            entry.metadata.change = Some(Change::Updated);
            entry.metadata.datetime = Some(DateTime::from_unix_micros(number));
            Ok(entry)
        })
    }

    #[test]
    fn a_burst_is_split_and_its_spans_join() {
        let burst = change_notifications(&place(), DateTime::from_unix_micros(0), changes(100)).unwrap();
        assert_eq!((burst.until, burst.is_cut), (DateTime::from_unix_micros(100), false));
        let read: Vec<_> = burst.messages.iter().map(|message| read(message)).collect();
        assert_eq!(read.iter().map(|(_, entries)| entries.len()).collect::<Vec<_>>(), [40, 40, 20]);
        let mut end = Some(DateTime::from_unix_micros(0));
        for (header, entries) in &read {
            let metadata = header.metadata.as_ref().unwrap();
            assert_eq!(header.capability(), Some(&Capability::ChangeNotification));
            assert_eq!(header.up(), Some(&place().capability_list()));
            assert_eq!((metadata.from, metadata.until), (end, entries.last().unwrap().metadata.datetime));
            end = metadata.until;
        }
    }

    #[test]
    fn o697_a_notification_of_changes_with_many_links_is_not_longer_than_its_readers_take() {
        let path = "x".repeat(200);
        let large = changes(40).map(|entry| -> Result<Entry, Error> {
            let mut entry = entry?;
            for number in 0..200 {
                let target = Uri::parse(&format!("http://example.com/{path}{number}")).unwrap();
                entry.links.push(Link::new(Relation::DescribedBy, target));
            }
            Ok(entry)
        });
        let burst = change_notifications(&place(), DateTime::from_unix_micros(0), large).unwrap();
        assert!(burst.messages.iter().all(|message| message.len() < 300 << 10));
        let entries = burst.messages.iter().map(|message| read(message).1.len());
        assert_eq!((entries.sum::<usize>(), burst.is_cut), (40, false));
    }

    #[test]
    fn an_endless_burst_leaves_a_gap_that_shows() {
        let start = DateTime::from_unix_micros(0);
        let burst = change_notifications(&place(), start, changes(1_000_000)).unwrap();
        assert_eq!((burst.messages.len(), burst.is_cut), (MOST_MESSAGES, true));
        let nothing = change_notifications(&place(), start, changes(0)).unwrap();
        assert!(nothing.messages.is_empty() && !nothing.is_cut && nothing.until == start);
    }

    #[test]
    fn a_framework_notification_names_document_change_and_index() {
        let written = WrittenDocument {
            uri: place().uri("changelist-000002.xml"),
            capability: Capability::ChangeList,
            change: Change::Created,
            index: Some(place().uri("changelist.xml")),
        };
        let now = DateTime::from_unix_seconds(0);
        let (header, entries) = read(&framework_notification(&place(), &[written], now).unwrap().unwrap());
        assert_eq!(header.capability(), Some(&Capability::FrameworkNotification));
        assert_eq!(entries[0].metadata.capability, Some(Capability::ChangeList));
        assert_eq!(entries[0].metadata.change, Some(Change::Created));
        assert_eq!(entries[0].link_for(&Relation::Index).unwrap().href, place().uri("changelist.xml"));
        assert_eq!(framework_notification(&place(), &[], now).unwrap(), None);
    }
}
