//! Notifications that follow each other, as one (CN-6, CN-7). PURE.

use bytes::Bytes;
use resourcesync::{
    Capability, DateTime, DocumentReader, DocumentWriter, Entry, Header, ReadError, ReadOptions, WriteOptions,
};

/// Bytes of notifications that are joined: more are read faster from the Change List.
const MOST_BYTES: usize = 64 << 10;

/// Joins the first notifications of a sequence whose intervals are adjacent, and returns the result and their number.
/// `None` if not even the first two can be joined.
///
/// A subscriber that missed a notification must see the gap, so notifications around a gap stay separate.
pub(super) fn join(messages: &[Bytes]) -> Option<(Bytes, usize)> {
    let mut bytes = 0;
    let few = messages.iter().take_while(|message| {
        bytes += message.len();
        bytes <= MOST_BYTES
    });
    let mut read = few.map_while(|message| Notification::read(message).ok());
    let mut whole = read.next()?;
    let mut count = 1;
    for next in read {
        if !whole.meets(&next) {
            break;
        }
        whole.append(next);
        count += 1;
    }
    (count > 1).then(|| whole.write()).flatten().map(|body| (body, count))
}

struct Notification {
    header: Header,
    entries: Vec<Entry>,
}

impl Notification {
    fn read(message: &[u8]) -> Result<Self, ReadError> {
        let mut reader = DocumentReader::new(message, ReadOptions::new())?;
        let entries = reader.entries().collect::<Result<_, _>>()?;
        Ok(Self { header: reader.header().clone(), entries })
    }

    /// Returns `true` if another notification begins where this one ends, for the same set.
    fn meets(&self, next: &Self) -> bool {
        let is_change = |of: &Self| of.header.capability() == Some(&Capability::ChangeNotification);
        let end = self.span().and_then(|(_, until)| until);
        let start = next.span().and_then(|(from, _)| from);
        is_change(self)
            && is_change(next)
            && self.header.links == next.header.links
            && end.is_some()
            && end == start
    }

    fn span(&self) -> Option<(Option<DateTime>, Option<DateTime>)> {
        self.header.metadata.as_ref().map(|metadata| (metadata.from, metadata.until))
    }

    fn append(&mut self, next: Self) {
        self.entries.extend(next.entries);
        if let Some(metadata) = &mut self.header.metadata {
            metadata.until = next.header.metadata.and_then(|metadata| metadata.until);
        }
    }

    fn write(&self) -> Option<Bytes> {
        let mut writer = DocumentWriter::new(Vec::new(), &self.header, WriteOptions::new()).ok()?;
        self.entries.iter().try_for_each(|entry| writer.write_entry(entry).map(drop)).ok()?;
        writer.finish().ok().map(Bytes::from)
    }
}

#[cfg(test)]
mod tests {
    use resourcesync::{Change, Uri};

    use super::*;
    use crate::{
        notify::payload::{change_notifications, framework_notification},
        render::SourcePlace,
    };

    fn moment(micros: i64) -> DateTime {
        DateTime::from_unix_micros(micros)
    }

    /// Returns the notification of a change at `at`, of a span that begins at `from`.
    fn notification(from: i64, at: i64) -> Bytes {
        let mut entry = Entry::new(Uri::parse(&format!("http://example.com/{at}")).unwrap());
        entry.metadata.change = Some(Change::Updated);
        entry.metadata.datetime = Some(moment(at));
        let place = SourcePlace::new("http://example.com/").unwrap().set("");
        change_notifications(&place, moment(from), [Ok(entry)]).unwrap().messages.remove(0)
    }

    fn changed(notification: &Notification) -> Vec<&str> {
        notification.entries.iter().map(|entry| entry.loc.as_str()).collect()
    }

    #[test]
    fn notifications_whose_spans_meet_become_one_of_the_whole_span() {
        let (joined, count) =
            join(&[notification(0, 10), notification(10, 20), notification(20, 30)]).unwrap();
        assert_eq!(count, 3);
        let joined = Notification::read(&joined).unwrap();
        assert_eq!(joined.span(), Some((Some(moment(0)), Some(moment(30)))));
        assert_eq!(
            changed(&joined),
            ["http://example.com/10", "http://example.com/20", "http://example.com/30"]
        );
        let alone = Notification::read(&notification(0, 10)).unwrap();
        assert_eq!(joined.header.links, alone.header.links);
        assert_eq!(joined.header.capability(), alone.header.capability());
    }

    #[test]
    fn a_gap_between_two_stays_a_gap() {
        let (joined, count) =
            join(&[notification(0, 10), notification(10, 20), notification(25, 30)]).unwrap();
        assert_eq!((count, changed(&Notification::read(&joined).unwrap()).len()), (2, 2));
        assert!(join(&[notification(0, 10), notification(11, 20)]).is_none());
    }

    #[test]
    fn no_more_is_joined_than_is_worth_it() {
        let messages: Vec<Bytes> = (0..1_000).map(|at| notification(at, at + 1)).collect();
        let (joined, count) = join(&messages).unwrap();
        assert!(count < 1_000 && joined.len() <= MOST_BYTES, "{count} in {} bytes", joined.len());
        assert!(joined.len() > MOST_BYTES / 4);
    }

    #[test]
    fn what_is_no_change_notification_goes_alone() {
        let place = SourcePlace::new("http://example.com/").unwrap().set("");
        let written = crate::notify::payload::WrittenDocument {
            uri: place.uri("changelist.xml"),
            capability: Capability::ChangeList,
            change: Change::Updated,
            index: None,
        };
        let other = framework_notification(&place, &[written], moment(0)).unwrap().unwrap();
        assert!(join(&[other.clone(), other]).is_none());
        assert!(join(&[Bytes::from_static(b"<urlset"), notification(0, 10)]).is_none());
        assert!(join(&[]).is_none());
    }
}
