//! What the channels said since anybody looked: bounded, whatever arrives (W7).

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use resourcesync::Uri;
use tokio::sync::Notify;

use super::Kind;

/// Messages that wait; when there are more, a look at the Change List is cheaper.
const MOST_MESSAGES: usize = 64;
/// Bytes of them.
const MOST_BYTES: usize = 4 << 20;
/// Sentences for the operator that wait.
const MOST_NOTES: usize = 16;

/// What was heard.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Whether something was missed or is not understood, so that the Source has to be looked at.
    pub(crate) look: bool,
    /// Messages, in the order in which they came.
    pub(crate) messages: Vec<Message>,
    /// Sentences for the operator.
    pub(crate) notes: Vec<String>,
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// The Capability List of the set that it is about.
    pub(crate) set: Uri,
    pub(crate) kind: Kind,
    pub(crate) body: Bytes,
}

/// Takes what arrives from any number of channels.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    heard: Mutex<Heard>,
    news: Notify,
}

impl Inbox {
    /// Something may have been missed.
    pub(super) fn look(&self) {
        self.heard().look();
        self.news.notify_one();
    }

    pub(super) fn put(&self, message: Message) {
        let mut heard = self.heard();
        let waiting: usize = heard.messages.iter().map(|message| message.body.len()).sum();
        if heard.messages.len() >= MOST_MESSAGES || waiting + message.body.len() > MOST_BYTES {
            heard.look();
        } else if !heard.look {
            heard.messages.push(message);
        }
        drop(heard);
        self.news.notify_one();
    }

    /// Something that the operator should read; it leads to no look.
    pub(super) fn note(&self, text: String) {
        tracing::info!("{text}");
        let mut heard = self.heard();
        if heard.notes.len() < MOST_NOTES {
            heard.notes.push(text);
        }
    }

    /// All that was heard since this was called last.
    pub(super) fn take(&self) -> Heard {
        std::mem::take(&mut *self.heard())
    }

    /// Waits for the next word; those that came since the last one are one.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Heard {
    /// A look finds whatever the messages say.
    fn look(&mut self) {
        self.look = true;
        self.messages.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: usize) -> Message {
        let set = Uri::parse("http://a/caps.xml").unwrap();
        Message { set, kind: Kind::Changes, body: vec![b'x'; bytes].into() }
    }

    #[test]
    fn w7_a_flood_is_one_look_and_no_memory() {
        let inbox = Inbox::default();
        for _ in 0..10_000 {
            inbox.put(message(100));
            assert!(inbox.heard().messages.len() <= MOST_MESSAGES);
        }
        let heard = inbox.take();
        assert!(heard.look && heard.messages.is_empty());
        inbox.put(message(MOST_BYTES + 1));
        assert!(inbox.take().look);
        inbox.put(message(1));
        let heard = inbox.take();
        assert!(!heard.look && heard.messages.len() == 1);
    }
}
