//! The hub of this Source's own topics (WebSub): subscribers get each notification by POST.

mod book;
mod intent;
mod lanes;
mod request;
mod signature;
mod store;
mod verifications;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::{
    body::Bytes,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use instep_net::Cidr;
use resourcesync::Uri;
use tokio::sync::{Notify, Semaphore};

use super::{channel::NotificationChannel, client::CallbackClient, transport::Transport};
use crate::{Error, serve::body};
use book::{Book, DeliveryOutcome, Key};
use lanes::Lanes;
use request::SubscriptionRequest;
pub use signature::Signature;
use store::HubStore;
use verifications::Verifications;

/// The bytes of a request to the hub that are read.
const REQUEST_BYTES: usize = 16 * 1024;
/// Verifications at a time. They have places of their own, so that callbacks that do not answer delay no delivery.
const VERIFICATIONS_AT_A_TIME: usize = 64;

/// The hub.
#[derive(Debug)]
pub(crate) struct Hub {
    /// The topics, with the links that a delivery carries.
    topics: BTreeMap<String, HeaderValue>,
    ledger: Mutex<HubLedger>,
    client: CallbackClient,
    signature: Signature,
    wake: Notify,
    lanes: Lanes,
    verifying: Semaphore,
    /// A verification has ended.
    settled: Notify,
    /// The operator was warned that secrets are readable on their way.
    warned: AtomicBool,
}

#[derive(Debug)]
struct HubLedger {
    book: Book,
    store: HubStore,
    newest: Option<(u64, Bytes)>,
    verifications: Verifications,
    /// Subscribers whose last delivery was slow.
    slow: BTreeSet<Key>,
}

impl Hub {
    /// Opens the hub's database. Callbacks may be at public addresses and at the allowed ones.
    pub(crate) fn open(
        path: &Path,
        topics: BTreeMap<String, HeaderValue>,
        allowed: Vec<Cidr>,
        signature: Signature,
    ) -> Result<Arc<Self>, Error> {
        let store = HubStore::open(path)?;
        let book = store.book()?;
        let client =
            CallbackClient::guarded(allowed).map_err(|error| Error::option("hub", error.to_string()))?;
        let verifications = Verifications::default();
        let ledger = HubLedger { book, store, newest: None, verifications, slow: BTreeSet::new() };
        Ok(Arc::new(Self {
            topics,
            ledger: Mutex::new(ledger),
            client,
            signature,
            wake: Notify::new(),
            lanes: Lanes::default(),
            verifying: Semaphore::new(VERIFICATIONS_AT_A_TIME),
            settled: Notify::new(),
            warned: AtomicBool::new(false),
        }))
    }

    /// Delivers until the task is ended.
    pub(crate) async fn run(self: Arc<Self>) {
        self.part_from_withdrawn_topics();
        loop {
            let now = now();
            let (due, next) = {
                let mut ledger = self.ledger();
                for key in ledger.book.expire(now) {
                    ledger.keep(&key);
                }
                (ledger.book.take_due(now), ledger.book.next())
            };
            for key in due {
                tokio::spawn(Arc::clone(&self).serve(key));
            }
            let wait = next.map_or(Duration::from_secs(3_600), |next| {
                Duration::from_micros(u64::try_from(next - now).unwrap_or(0)).max(Duration::from_millis(10))
            });
            let _ = tokio::time::timeout(wait, self.wake.notified()).await;
        }
    }

    /// Denies the subscriptions to topics that are no longer offered.
    fn part_from_withdrawn_topics(self: &Arc<Self>) {
        let mut ledger = self.ledger();
        for key in ledger.book.withdraw(|topic| self.topics.contains_key(topic)) {
            ledger.keep(&key);
            let hub = Arc::clone(self);
            tokio::spawn(async move { hub.deny(&key, "there is no such topic any more").await });
        }
    }

    /// Delivers to one subscriber, message after message.
    async fn serve(self: Arc<Self>, key: Key) {
        loop {
            let delivery = self.ledger().delivery(&key);
            let Some((secret, body)) = delivery else {
                self.ledger().book.delivered(&key, DeliveryOutcome::Taken, now());
                return;
            };
            let is_slow = self.ledger().is_slow(&key);
            let delivery = self.deliver(&key, secret.as_deref(), body);
            let (answer, was_slow) = self.lanes.run(is_slow, delivery).await;
            let goes_on = self.ledger().settle(&key, DeliveryOutcome::of(answer), was_slow);
            let Some(goes_on) = goes_on else {
                self.deny(&key, "it could not be delivered to for days").await;
                return;
            };
            if !goes_on {
                self.wake.notify_one();
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

    /// Returns the number of subscribers of a topic, and of those whose last delivery failed.
    pub(super) fn subscribers(&self, topic: &str) -> (usize, usize) {
        self.ledger().book.subscribers(topic)
    }

    /// Warns once that a secret that is sent over http can be read on its way (W3).
    fn warn_of_secret(&self, asked: &SubscriptionRequest) {
        let is_open = asked.secret.is_some() && asked.topic.starts_with("http:");
        if is_open && !self.warned.swap(true, Relaxed) {
            tracing::warn!(
                "a subscriber sends its secret over http: serve over https, or what it signs proves little"
            );
        }
    }

    fn ledger(&self) -> MutexGuard<'_, HubLedger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for Arc<Hub> {
    /// Stores a message and begins its delivery to the subscribers of a topic.
    fn send(&self, channel: &Arc<NotificationChannel>, document: &Bytes) -> Result<(), Error> {
        let topic = channel.topic().as_str();
        let mut ledger = self.ledger();
        if !ledger.book.has_subscribers(topic) {
            return Ok(());
        }
        let now = now();
        let sequence = ledger.book.publish(topic, now);
        ledger.store.publish(topic, sequence, now, document, ledger.book.oldest())?;
        ledger.newest = Some((sequence, document.clone()));
        drop(ledger);
        self.wake.notify_one();
        Ok(())
    }
}

impl HubLedger {
    /// Returns the secret of a subscriber and the message in flight to it.
    fn delivery(&mut self, key: &Key) -> Option<(Option<String>, Bytes)> {
        let sequence = self.book.in_flight(key)?;
        let secret = self.book.get(key)?.secret.clone();
        if let Some((_, body)) = self.newest.as_ref().filter(|(newest, _)| *newest == sequence) {
            return Some((secret, body.clone()));
        }
        let body = self.store.body(sequence).ok().flatten()?;
        Some((secret, body))
    }

    /// Returns `true` if deliveries to a subscriber belong into the slow lane.
    fn is_slow(&self, key: &Key) -> bool {
        self.slow.contains(key) || self.book.get(key).is_some_and(|it| it.failures > 0)
    }

    /// Records the result of a delivery. Returns `true` if the next one is in flight, `None` if the subscriber was
    /// given up.
    fn settle(&mut self, key: &Key, outcome: DeliveryOutcome, was_slow: bool) -> Option<bool> {
        let was_there = self.book.get(key).is_some();
        if was_slow && was_there && outcome == DeliveryOutcome::Taken {
            self.slow.insert(key.clone());
        } else {
            // A subscriber that failed is known as such by the book; one that is gone need not be remembered.
            self.slow.remove(key);
        }
        let goes_on = self.book.delivered(key, outcome, now());
        self.keep(key);
        let given_up = was_there && outcome == DeliveryOutcome::Failed && self.book.get(key).is_none();
        (!given_up).then_some(goes_on)
    }

    /// Writes a subscription as it is in the book. A loss here leads to a second delivery, which does no harm (W5).
    fn keep(&self, key: &Key) {
        if let Err(error) = self.store.keep(key, self.book.get(key)) {
            tracing::warn!(%error, "a subscription could not be kept");
        }
    }
}

/// Answers a request to the hub.
pub(crate) async fn answer(State(hub): State<Arc<Hub>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let media_type =
        parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if media_type.starts_with("application/xml") {
        return refused(StatusCode::FORBIDDEN, "this hub serves the topics of its own Source");
    }
    if !media_type.starts_with("application/x-www-form-urlencoded") {
        return refused(StatusCode::NOT_ACCEPTABLE, "send application/x-www-form-urlencoded");
    }
    let asked = match body::read(body, REQUEST_BYTES).await.map(|form| SubscriptionRequest::parse(&form)) {
        Ok(Ok(asked)) => asked,
        Ok(Err(what)) => return refused(StatusCode::BAD_REQUEST, what),
        Err(status) => return refused(status, "the request is too long, or took too long"),
    };
    if !hub.topics.contains_key(&asked.topic) {
        return refused(StatusCode::NOT_FOUND, "there is no such topic");
    }
    let callback = Uri::parse(&asked.callback).ok().filter(|callback| hub.client.admits(callback));
    let targets = match callback {
        Some(callback) => hub.targets(&callback).await,
        None => None,
    };
    let Some(targets) = targets else {
        return refused(StatusCode::BAD_REQUEST, "hub.callback is not at an address that may be asked");
    };
    if !hub.admits(&targets).await {
        let busy = refused(StatusCode::TOO_MANY_REQUESTS, "this callback's network was asked too often");
        return ([(header::RETRY_AFTER, "60")], busy).into_response();
    }
    hub.warn_of_secret(&asked);
    tokio::spawn(hub.follow_up(asked, targets));
    StatusCode::ACCEPTED.into_response()
}

fn refused(status: StatusCode, what: &'static str) -> Response {
    (status, what).into_response()
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
