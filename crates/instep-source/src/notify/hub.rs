//! The hub of this Source's own topics (WebSub): subscribers get each notification by POST.
//!
//! A message is stored once per topic with a sequence number, and a subscriber is a cursor. A backlog that is too long
//! or too old collapses to the newest message. The first message is sent at once, then at most one per interval. One
//! delivery at a time goes to a subscriber; notifications that arrive meanwhile and whose intervals are adjacent are
//! joined in the next one, so that a slow subscriber stays one delivery behind and not more with each.
//!
//! Several servers of one Source share the book as rows. The publisher alone delivers, and its successor restores the
//! book.

mod answering;
mod bodies;
mod book;
mod clock;
#[cfg(feature = "postgres")]
mod elsewhere;
mod intent;
mod lanes;
mod ledger;
mod request;
#[cfg(feature = "postgres")]
mod shared_book;
mod signature;
mod store;
mod verifications;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

pub(crate) use answering::answer_request;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use instep_net::Cidr;
use resourcesync::Uri;
use tokio::sync::{Notify, Semaphore};

use super::{channel::NotificationChannel, client::CallbackClient, transport::Transport};
use crate::{Error, catalogue::Catalogue};
use book::{DeliveryOutcome, Key, SubscriberCounts};
#[cfg(feature = "postgres")]
pub(crate) use elsewhere::{LeftRequests, leave};
use lanes::Lanes;
use ledger::HubLedger;
use request::SubscriptionRequest;
#[cfg(feature = "postgres")]
use shared_book::SharedBook;
pub use signature::Signature;
use store::{HubStore, KeepBook};

/// The most parallel verifications. They have separate places, so that callbacks that do not answer delay no
/// delivery.
const VERIFICATIONS_AT_A_TIME: usize = 64;

/// The time for which deliveries are collected before they are recorded: recording each one would cost as much as it did.
const WRITE_AFTER: Duration = Duration::from_millis(200);

/// The hub.
#[derive(Debug)]
pub(crate) struct Hub {
    /// The topics, with the links that a delivery carries.
    topics: BTreeMap<String, HeaderValue>,
    ledger: Mutex<HubLedger>,
    client: CallbackClient,
    signature: Signature,
    wake: Notify,
    /// A delivery has ended.
    delivered: Notify,
    lanes: Lanes,
    verifying: Semaphore,
    /// A verification has ended.
    settled: Notify,
    /// `true` once the operator was warned that secrets are sent without encryption.
    warned: AtomicBool,
}

impl Hub {
    /// Opens the hub with its book: in a catalogue that several servers use, or else in a file. Callbacks may be at public addresses and at the allowed ones.
    pub(crate) fn open(
        catalogue: &Catalogue,
        path: &Path,
        topics: BTreeMap<String, HeaderValue>,
        allowed: Vec<Cidr>,
        signature: Signature,
    ) -> Result<Arc<Self>, Error> {
        let ledger = HubLedger::open(open_book(catalogue, path)?)?;
        let client =
            CallbackClient::guarded(allowed).map_err(|error| Error::option("hub", error.to_string()))?;
        Ok(Arc::new(Self {
            topics,
            ledger: Mutex::new(ledger),
            client,
            signature,
            wake: Notify::new(),
            delivered: Notify::new(),
            lanes: Lanes::default(),
            verifying: Semaphore::new(VERIFICATIONS_AT_A_TIME),
            settled: Notify::new(),
            warned: AtomicBool::new(false),
        }))
    }

    /// Delivers until the task is ended.
    pub(crate) async fn run(self: Arc<Self>) {
        self.part_from_withdrawn_topics();
        tokio::join!(self.deliver_what_is_due(), self.write_what_was_delivered());
    }

    async fn deliver_what_is_due(self: &Arc<Self>) {
        loop {
            let (now, due, next) = {
                let mut ledger = self.ledger();
                let now = ledger.now();
                for key in ledger.book.expire(now) {
                    ledger.keep(&key);
                }
                (now, ledger.book.take_due(now), ledger.book.next())
            };
            for key in due {
                tokio::spawn(Arc::clone(self).serve(key));
            }
            let wait = next.map_or(Duration::from_secs(3_600), |next| {
                Duration::from_micros(u64::try_from(next - now).unwrap_or(0)).max(Duration::from_millis(10))
            });
            let _ = tokio::time::timeout(wait, self.wake.notified()).await;
        }
    }

    async fn write_what_was_delivered(&self) {
        loop {
            self.delivered.notified().await;
            tokio::time::sleep(WRITE_AFTER).await;
            self.ledger().write();
        }
    }

    /// Denies the subscriptions to topics that are no longer offered.
    fn part_from_withdrawn_topics(self: &Arc<Self>) {
        let mut ledger = self.ledger();
        for key in ledger.book.withdraw(|topic| self.topics.contains_key(topic)) {
            ledger.keep(&key);
            let hub = Arc::clone(self);
            tokio::spawn(async move { hub.deny(&key, "this topic is no longer offered").await });
        }
    }

    /// Delivers to one subscriber, message after message.
    async fn serve(self: Arc<Self>, key: Key) {
        loop {
            let delivery = self.ledger().delivery(&key);
            let (answer, was_slow) = match delivery {
                Ok(Some((secret, body))) => {
                    let is_slow = self.ledger().is_slow(&key);
                    let delivery = || self.deliver(&key, secret.as_deref(), body);
                    self.lanes.run(is_slow, delivery).await
                }
                // The subscriber sees the gap in the next message, which may be in flight now.
                Ok(None) => {
                    let mut ledger = self.ledger();
                    let now = ledger.now();
                    match ledger.book.delivered(&key, DeliveryOutcome::Taken, now) {
                        true => continue,
                        false => return,
                    }
                }
                // It is tried again later, as if there had been no answer.
                Err(error) => {
                    tracing::warn!(%error, "a message cannot be read");
                    (None, false)
                }
            };
            let outcome = DeliveryOutcome::of(answer);
            let goes_on = self.ledger().settle(&key, outcome, was_slow);
            self.delivered.notify_one();
            let Some(goes_on) = goes_on else {
                self.deny(&key, "it could not be delivered to for days").await;
                return;
            };
            if outcome == DeliveryOutcome::Failed {
                // The next attempt may be due before any other event.
                self.wake.notify_one();
            }
            if !goes_on {
                return;
            }
        }
    }

    async fn deliver(&self, (topic, callback): &Key, secret: Option<&str>, body: Bytes) -> Option<u16> {
        let mut headers = HeaderMap::new();
        headers.extend(self.topics.get(topic).map(|links| (header::LINK, links.clone())));
        if let Some(secret) = secret {
            headers.insert("x-hub-signature", self.signature.field(secret, &body));
        }
        self.client.post(Uri::parse(callback).ok()?, body, headers).await
    }

    /// Returns the numbers of subscribers of a topic.
    pub(super) fn subscribers(&self, topic: &str) -> SubscriberCounts {
        self.ledger().book.subscribers(topic)
    }

    /// Warns once that others can read a secret that is sent over http (W3).
    fn warn_of_secret(&self, asked: &SubscriptionRequest) {
        let is_open = asked.secret.is_some() && asked.topic.starts_with("http:");
        if is_open && !self.warned.swap(true, Relaxed) {
            tracing::warn!(
                "a subscriber sends its secret over http, where others can read it: serve over https"
            );
        }
    }

    fn ledger(&self) -> MutexGuard<'_, HubLedger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for Arc<Hub> {
    /// Stores a message and begins its delivery to the subscribers of a topic.
    fn send(&self, channel: &Arc<NotificationChannel>, document: &Bytes) {
        let topic = channel.topic().as_str();
        let mut ledger = self.ledger();
        if !ledger.book.has_subscribers(topic) {
            return;
        }
        ledger.publish(topic, document);
        drop(ledger);
        self.wake.notify_one();
    }
}

fn open_book(catalogue: &Catalogue, path: &Path) -> Result<Box<dyn KeepBook>, Error> {
    #[cfg(feature = "postgres")]
    if let Some(shared) = SharedBook::of(catalogue, path)? {
        return Ok(Box::new(shared));
    }
    #[cfg(not(feature = "postgres"))]
    let _ = catalogue;
    Ok(Box::new(HubStore::open(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn o628_a_subscriber_whose_messages_are_lost_gets_the_later_ones() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::open(&folder.path().join("catalogue.db")).unwrap();
        let path = folder.path().join("hub.db");
        let hub = Hub::open(&catalogue, &path, BTreeMap::new(), Vec::new(), Signature::default()).unwrap();
        let key: Key = ("http://a/t".to_owned(), "http://b/c".to_owned());
        {
            let mut ledger = hub.ledger();
            let now = ledger.now();
            ledger.book.subscribe(key.clone(), None, i64::MAX);
            // More than one delivery carries, and none of them in the file.
            for _ in 0..100 {
                ledger.book.publish(&key.0, now);
            }
            assert_eq!(ledger.book.take_due(now), std::slice::from_ref(&key));
        }
        Arc::clone(&hub).serve(key.clone()).await;
        let mut ledger = hub.ledger();
        assert_eq!(ledger.book.in_flight(&key), None);
        let now = ledger.now();
        let next = ledger.book.publish(&key.0, now);
        assert_eq!(ledger.book.take_due(now), std::slice::from_ref(&key));
        assert_eq!(ledger.book.in_flight(&key), Some(&[next][..]));
    }
}
