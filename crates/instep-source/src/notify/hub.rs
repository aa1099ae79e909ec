//! The hub of this Source's own topics (WebSub): who asked is told, by POST.

mod book;
mod request;
mod store;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::{
    body::Bytes,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use rand::Rng as _;
use ring::hmac;
use tokio::sync::{Notify, Semaphore};
use url::Url;

use super::{Transport, address::Cidr, channel::Channel, client::Client};
use crate::{Error, serve::body};
use book::{Book, Key, Outcome};
use request::{Asked, Mode};
use store::Store;

/// Bytes of a request to the hub.
const REQUEST_BYTES: usize = 16 * 1024;
/// Requests to subscribers at a time.
const AT_A_TIME: usize = 128;
/// Verifications for one callback's host in a minute (W1).
const VERIFICATIONS_PER_HOST: u32 = 30;
const MINUTE: i64 = 60_000_000;
/// Without a signature of its own choice the subscriber gets this one.
const SIGNATURE: (&str, hmac::Algorithm) = ("sha256", hmac::HMAC_SHA256);

/// The hub.
#[derive(Debug)]
pub(crate) struct Hub {
    /// The topics, with the links that a delivery carries.
    topics: BTreeMap<String, HeaderValue>,
    ledger: Mutex<Ledger>,
    client: Client,
    wake: Notify,
    places: Semaphore,
}

#[derive(Debug)]
struct Ledger {
    book: Book,
    store: Store,
    newest: Option<(u64, Bytes)>,
    verifications: BTreeMap<String, (i64, u32)>,
}

impl Hub {
    /// Opens the hub's database. Callbacks are at public addresses, or at those allowed.
    pub(crate) fn open(
        path: &Path,
        topics: BTreeMap<String, HeaderValue>,
        allowed: Vec<Cidr>,
    ) -> Result<Arc<Self>, Error> {
        let store = Store::open(path)?;
        let book = store.book()?;
        let client = Client::guarded(allowed).map_err(Error::read(path))?;
        let ledger = Ledger { book, store, newest: None, verifications: BTreeMap::new() };
        let places = Semaphore::new(AT_A_TIME);
        Ok(Arc::new(Self { topics, ledger: Mutex::new(ledger), client, wake: Notify::new(), places }))
    }

    /// Delivers until the task is ended.
    pub(crate) async fn run(self: Arc<Self>) {
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

    /// Delivers to one subscriber, message after message.
    async fn serve(self: Arc<Self>, key: Key) {
        let Ok(_place) = self.places.acquire().await else { return };
        loop {
            let delivery = self.ledger().delivery(&key);
            let Some((secret, body)) = delivery else {
                self.ledger().book.delivered(&key, Outcome::Taken, now());
                return;
            };
            let answer = self.deliver(&key, secret.as_deref(), body).await;
            let mut ledger = self.ledger();
            let goes_on = ledger.book.delivered(&key, Outcome::of(answer), now());
            ledger.keep(&key);
            drop(ledger);
            if !goes_on {
                self.wake.notify_one();
                return;
            }
        }
    }

    async fn deliver(&self, (topic, callback): &Key, secret: Option<&str>, body: Bytes) -> Option<u16> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        headers.extend(self.topics.get(topic).map(|links| (header::LINK, links.clone())));
        if let Some(secret) = secret {
            headers.insert("x-hub-signature", signature(secret, &body));
        }
        let url = Url::parse(callback).ok()?;
        self.client.send(Method::POST, &url, headers, body).await.map(|answer| answer.status)
    }

    /// Asks the callback whether it wants this (W8); then it is done.
    async fn verify(self: Arc<Self>, asked: Asked) {
        let Ok(_place) = self.places.acquire().await else { return };
        let challenge = format!("{:032x}", rand::rng().random::<u128>());
        let Ok(mut url) = Url::parse(&asked.callback) else { return };
        url.query_pairs_mut()
            .append_pair("hub.mode", asked.mode.as_str())
            .append_pair("hub.topic", &asked.topic)
            .append_pair("hub.challenge", &challenge);
        if asked.mode == Mode::Subscribe {
            url.query_pairs_mut().append_pair("hub.lease_seconds", &asked.lease.as_secs().to_string());
        }
        let answer = self.client.send(Method::GET, &url, HeaderMap::new(), Bytes::new()).await;
        let confirmed = answer.is_some_and(|answer| {
            (200..300).contains(&answer.status) && answer.body.trim_ascii() == challenge.as_bytes()
        });
        if !confirmed {
            tracing::info!(callback = asked.callback, "a callback did not confirm");
            return;
        }
        let key = (asked.topic, asked.callback);
        let mut ledger = self.ledger();
        match asked.mode {
            Mode::Unsubscribe => ledger.book.unsubscribe(&key),
            Mode::Subscribe => {
                let lease = i64::try_from(asked.lease.as_micros()).unwrap_or(i64::MAX);
                ledger.book.subscribe(key.clone(), asked.secret, now().saturating_add(lease));
            }
        }
        ledger.keep(&key);
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

    /// Writes a subscription as it is in the book. What is lost here is delivered twice, which does no harm (W5).
    fn keep(&self, key: &Key) {
        if let Err(error) = self.store.keep(key, self.book.get(key)) {
            tracing::warn!(%error, "a subscription could not be kept");
        }
    }

    /// Whether a host may be asked once more in this minute.
    fn may_verify(&mut self, host: &str, now: i64) -> bool {
        self.verifications.retain(|_, (since, _)| now - *since < MINUTE);
        let (_, count) = self.verifications.entry(host.to_owned()).or_insert((now, 0));
        *count += 1;
        *count <= VERIFICATIONS_PER_HOST
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
    let Some(callback) = Url::parse(&asked.callback).ok().filter(|callback| hub.client.admits(callback))
    else {
        return refused(StatusCode::BAD_REQUEST, "hub.callback is not at an address that may be asked");
    };
    let host = callback.host_str().unwrap_or_default().to_owned();
    if !hub.ledger().may_verify(&host, now()) {
        let busy = refused(StatusCode::TOO_MANY_REQUESTS, "this callback's host was asked too often");
        return ([(header::RETRY_AFTER, "60")], busy).into_response();
    }
    tokio::spawn(hub.verify(asked));
    StatusCode::ACCEPTED.into_response()
}

fn refused(status: StatusCode, what: &'static str) -> Response {
    (status, what).into_response()
}

fn signature(secret: &str, body: &[u8]) -> HeaderValue {
    let (name, algorithm) = SIGNATURE;
    let tag = hmac::sign(&hmac::Key::new(algorithm, secret.as_bytes()), body);
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&format!("{name}={hex}")).unwrap_or(HeaderValue::from_static(""))
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w2_the_signature_is_that_of_the_raw_body() {
        // RFC 4231, test case 2.
        let expected = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signature("Jefe", b"what do ya want for nothing?"), expected);
    }
}
