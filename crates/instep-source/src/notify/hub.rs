//! The hub of this Source's own topics (WebSub): subscribers get each notification by POST.

mod bodies;
mod book;
mod intent;
mod lanes;
mod ledger;
mod request;
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
use book::{DeliveryOutcome, Key};
use lanes::Lanes;
use ledger::HubLedger;
use request::SubscriptionRequest;
pub use signature::Signature;

/// The bytes of a request to the hub that are read.
const REQUEST_BYTES: usize = 16 * 1024;
/// The most parallel verifications. They have separate places, so that callbacks that do not answer delay no
/// delivery.
const VERIFICATIONS_AT_A_TIME: usize = 64;

/// The time for which deliveries are collected before they are written down: one by one that costs as much as they do.
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
    /// The operator was warned that secrets are readable on their way.
    warned: AtomicBool,
}

impl Hub {
    /// Opens the hub's database. Callbacks may be at public addresses and at the allowed ones.
    pub(crate) fn open(
        path: &Path,
        topics: BTreeMap<String, HeaderValue>,
        allowed: Vec<Cidr>,
        signature: Signature,
    ) -> Result<Arc<Self>, Error> {
        let ledger = HubLedger::open(path)?;
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
            let now = now();
            let (due, next) = {
                let mut ledger = self.ledger();
                for key in ledger.book.expire(now) {
                    ledger.keep(&key);
                }
                (ledger.book.take_due(now), ledger.book.next())
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
            let delivery = || self.deliver(&key, secret.as_deref(), body);
            let (answer, was_slow) = self.lanes.run(is_slow, delivery).await;
            let outcome = DeliveryOutcome::of(answer);
            let goes_on = self.ledger().settle(&key, outcome, was_slow, now());
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

    /// Returns the number of subscribers of a topic, and of those whose last delivery failed.
    pub(super) fn subscribers(&self, topic: &str) -> (usize, usize) {
        self.ledger().book.subscribers(topic)
    }

    /// Warns once that others can read a secret that is sent over http (W3).
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
        ledger.publish(topic, document, now())?;
        drop(ledger);
        self.wake.notify_one();
        Ok(())
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
        Err(status) => {
            return refused(status, "the request is too long, took too long, or its coding is damaged");
        }
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
