//! The messages of all channels since the last run. Its memory is bounded, whatever arrives (W7).

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use resourcesync::{DocumentReader, Entry, ReadOptions, Uri};
use tokio::{sync::Notify, time::Instant};

use super::{Kind, backoff::Backoff};

/// The most messages that wait. If there are more, reading the Change List is cheaper.
const MOST_MESSAGES: usize = 64;
/// The most bytes of messages that wait.
const MOST_BYTES: usize = 4 << 20;
/// The most notes for the operator that wait. Further ones are only logged.
const MOST_NOTES: usize = 16;
/// The first and the longest pause between runs caused by unreadable messages.
const UNREADABLE_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// The messages and notes since the last look.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// `true` if the Source must be read, because something may have been missed or could not be read.
    pub(crate) look: bool,
    /// The messages, in the order of their arrival.
    pub(crate) messages: Vec<ChannelMessage>,
    /// Notes for the operator.
    pub(crate) notes: Vec<String>,
}

/// A message of a channel.
#[derive(Clone, Debug)]
pub(crate) struct ChannelMessage {
    /// The Capability List of the set that the message is about.
    pub(crate) set: Uri,
    pub(crate) kind: Kind,
    pub(crate) body: Bytes,
}

/// Collects the messages of any number of channels.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    received: Mutex<Received>,
    unreadable: Mutex<UnreadableMessages>,
    news: Notify,
}

/// Messages that are not documents. Each may mean a missed change, but a channel with only such messages must not
/// cause a run for each.
#[derive(Debug)]
struct UnreadableMessages {
    backoff: Backoff,
    last: Option<Instant>,
    not_before: Option<Instant>,
}

impl Default for UnreadableMessages {
    fn default() -> Self {
        let backoff = Backoff::new(UNREADABLE_PAUSES.0, UNREADABLE_PAUSES.1);
        Self { backoff, last: None, not_before: None }
    }
}

impl UnreadableMessages {
    /// Returns `true` if the Source is to be read because of this message.
    fn leads_to_look(&mut self, now: Instant) -> bool {
        let well = self.last.map_or(Duration::ZERO, |last| now - last);
        self.last = Some(now);
        if self.not_before.is_some_and(|not_before| now < not_before) {
            return false;
        }
        self.not_before = Some(now + self.backoff.after(well));
        true
    }
}

impl Inbox {
    /// Records that something may have been missed.
    pub(super) fn look(&self) {
        self.received().look();
        self.news.notify_one();
    }

    /// Adds a message. One that is not a document causes a reading of the Source, and further ones less and less often
    /// (B23).
    pub(super) fn put(&self, message: ChannelMessage) {
        if !is_readable(&message) {
            let mut unreadable = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
            if unreadable.leads_to_look(Instant::now()) {
                tracing::warn!(set = %message.set, "a channel sends something that is not a notification");
                self.look();
            }
            return;
        }
        let mut received = self.received();
        let waiting: usize = received.messages.iter().map(|message| message.body.len()).sum();
        // Messages over the limit are dropped, because the run reads the Change List, which has their changes.
        if received.messages.len() >= MOST_MESSAGES || waiting + message.body.len() > MOST_BYTES {
            received.look();
        } else if !received.look {
            received.messages.push(message);
        }
        // The lock is released before the reader is woken, which takes it at once.
        drop(received);
        self.news.notify_one();
    }

    /// Records a note for the operator. It does not cause a reading of the Source.
    pub(super) fn note(&self, text: String) {
        tracing::info!("{text}");
        let mut received = self.received();
        if received.notes.len() < MOST_NOTES {
            received.notes.push(text);
        }
    }

    /// Returns the messages since the last call.
    pub(super) fn take(&self) -> Received {
        std::mem::take(&mut *self.received())
    }

    /// Waits for the next message. Several since the last call count as one.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    fn received(&self) -> MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Received {
    /// Requests a reading of the Source, and drops the messages, whose changes the lists have.
    fn look(&mut self) {
        self.look = true;
        self.messages.clear();
    }
}

/// Returns `true` if a message is a document that can be read to its end.
fn is_readable(message: &ChannelMessage) -> bool {
    let options = ReadOptions::for_base(message.set.clone());
    let Ok(mut reader) = DocumentReader::new(&message.body[..], options) else { return false };
    let mut entry = Entry::default();
    loop {
        match reader.read_entry(&mut entry) {
            Ok(true) => {}
            end => return end.is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
        xmlns:rs=\"http://www.openarchives.org/rs/terms/\"><rs:md capability=\"changelist\"/></urlset>";

    /// Returns a message that is a document of at least this many bytes.
    fn message(bytes: usize) -> ChannelMessage {
        let set = Uri::parse("http://a/caps.xml").unwrap();
        ChannelMessage { set, kind: Kind::Changes, body: format!("{DOCUMENT}{}", " ".repeat(bytes)).into() }
    }

    #[test]
    fn w7_a_flood_is_one_look_and_no_memory() {
        let inbox = Inbox::default();
        for _ in 0..10_000 {
            inbox.put(message(100));
            assert!(inbox.received().messages.len() <= MOST_MESSAGES);
        }
        let received = inbox.take();
        assert!(received.look && received.messages.is_empty());
        inbox.put(message(MOST_BYTES + 1));
        assert!(inbox.take().look);
        inbox.put(message(1));
        let received = inbox.take();
        assert!(!received.look && received.messages.len() == 1);
    }

    #[tokio::test(start_paused = true)]
    async fn b23_messages_that_are_not_documents_lead_to_fewer_and_fewer_looks() {
        let inbox = Inbox::default();
        let mut looks = 0;
        for _ in 0..36_000 {
            inbox.put(ChannelMessage { body: "garbage".into(), ..message(0) });
            looks += u32::from(inbox.take().look);
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        assert!((2..30).contains(&looks), "{looks} looks in an hour");
        tokio::time::advance(Duration::from_secs(3_600)).await;
        inbox.put(ChannelMessage { body: "garbage".into(), ..message(0) });
        assert!(inbox.take().look);
    }
}
