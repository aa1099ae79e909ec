//! The hub of this Source's own topics (WebSub): who asked is told, by POST.

mod book;
mod intent;
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
use instep_net::{Cidr, Origin};
use resourcesync::Uri;
use tokio::sync::{Notify, Semaphore};

use super::{channel::Channel, client::Client, transport::Transport};
use crate::{Error, serve::body};
use book::{Book, Key, Outcome};
use request::Asked;
pub use signature::Signature;
use store::Store;
use verifications::Verifications;

/// Bytes of a request to the hub.
const REQUEST_BYTES: usize = 16 * 1024;
/// Requests to subscribers at a time.
const AT_A_TIME: usize = 128;
/// Of these, those that failed before: who is slow or dead waits among its like.
const RETRIES_AT_A_TIME: usize = 32;

/// The hub.
#[derive(Debug)]
pub(crate) struct Hub {
    /// The topics, with the links that a delivery carries.
    topics: BTreeMap<String, HeaderValue>,
    ledger: Mutex<Ledger>,
    client: Client,
    signature: Signature,
    wake: Notify,
    places: Semaphore,
    retries: Semaphore,
    /// A callback answered, or did not.
    settled: Notify,
    /// Whether it was said that secrets show on their way.
    warned: AtomicBool,
}

#[derive(Debug)]
struct Ledger {
    book: Book,
    store: Store,
    newest: Option<(u64, Bytes)>,
    verifications: Verifications,
}

impl Hub {
    /// Opens the hub's database. Callbacks are at public addresses, or at those allowed.
    pub(crate) fn open(
        path: &Path,
        topics: BTreeMap<String, HeaderValue>,
        allowed: Vec<Cidr>,
        signature: Signature,
    ) -> Result<Arc<Self>, Error> {
        let store = Store::open(path)?;
        let book = store.book()?;
        let client = Client::guarded(allowed).map_err(|error| Error::option("hub", error.to_string()))?;
        let ledger = Ledger { book, store, newest: None, verifications: Verifications::default() };
        Ok(Arc::new(Self {
            topics,
            ledger: Mutex::new(ledger),
            client,
            signature,
            wake: Notify::new(),
            places: Semaphore::new(AT_A_TIME),
            retries: Semaphore::new(RETRIES_AT_A_TIME),
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

    /// Who subscribed to a topic that is not offered any more hears so.
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
        let failed_before = self.ledger().book.get(&key).is_some_and(|it| it.failures > 0);
        let places = if failed_before { &self.retries } else { &self.places };
        let Ok(_place) = places.acquire().await else { return };
        loop {
            let delivery = self.ledger().delivery(&key);
            let Some((secret, body)) = delivery else {
                self.ledger().book.delivered(&key, Outcome::Taken, now());
                return;
            };
            let answer = self.deliver(&key, secret.as_deref(), body).await;
            let goes_on = self.ledger().settle(&key, Outcome::of(answer));
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

    /// Says once that whoever sees the request of a subscriber sees its secret (W3).
    fn warn_of_secret(&self, asked: &Asked) {
        let is_open = asked.secret.is_some() && asked.topic.starts_with("http:");
        if is_open && !self.warned.swap(true, Relaxed) {
            tracing::warn!(
                "a subscriber sends its secret over http: serve over https, or what it signs proves little"
            );
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for Arc<Hub> {
    /// Takes a message for the subscribers of a topic; they have it as soon as they take it.
    fn send(&self, channel: &Arc<Channel>, document: &Bytes) -> Result<(), Error> {
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

impl Ledger {
    /// The secret of a subscriber and what is in flight to it.
    fn delivery(&mut self, key: &Key) -> Option<(Option<String>, Bytes)> {
        let sequence = self.book.in_flight(key)?;
        let secret = self.book.get(key)?.secret.clone();
        if let Some((_, body)) = self.newest.as_ref().filter(|(newest, _)| *newest == sequence) {
            return Some((secret, body.clone()));
        }
        let body = self.store.body(sequence).ok().flatten()?;
        Some((secret, body))
    }

    /// Notes how a delivery ended: whether the next one is in flight; none where the subscriber was given up.
    fn settle(&mut self, key: &Key, outcome: Outcome) -> Option<bool> {
        let was_there = self.book.get(key).is_some();
        let goes_on = self.book.delivered(key, outcome, now());
        self.keep(key);
        let given_up = was_there && outcome == Outcome::Failed && self.book.get(key).is_none();
        (!given_up).then_some(goes_on)
    }

    /// Writes a subscription as it is in the book. What is lost here is delivered twice, which does no harm (W5).
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
    let asked = match body::read(body, REQUEST_BYTES).await.map(|form| Asked::parse(&form)) {
        Ok(Ok(asked)) => asked,
        Ok(Err(what)) => return refused(StatusCode::BAD_REQUEST, what),
        Err(status) => return refused(status, "the request is too long, or took too long"),
    };
    if !hub.topics.contains_key(&asked.topic) {
        return refused(StatusCode::NOT_FOUND, "there is no such topic");
    }
    let callback = Uri::parse(&asked.callback).ok().filter(|callback| hub.client.admits(callback));
    let Some(host) = callback.and_then(|callback| Origin::parse(callback.as_str()).ok()) else {
        return refused(StatusCode::BAD_REQUEST, "hub.callback is not at an address that may be asked");
    };
    let host = host.host().to_owned();
    if !hub.admits(&host).await {
        let busy = refused(StatusCode::TOO_MANY_REQUESTS, "this callback's host was asked too often");
        return ([(header::RETRY_AFTER, "60")], busy).into_response();
    }
    hub.warn_of_secret(&asked);
    tokio::spawn(hub.follow_up(asked, host));
    StatusCode::ACCEPTED.into_response()
}

fn refused(status: StatusCode, what: &'static str) -> Response {
    (status, what).into_response()
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
