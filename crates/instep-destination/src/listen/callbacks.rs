//! The server at which hubs verify subscriptions and deliver notifications. Outsiders can neither learn nor change
//! anything, and cannot exhaust it (W6, W7).
//!
//! It identifies hubs by tokens: a client that names the token of a subscription is treated as its hub, and its
//! deliveries count only with the right signature.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    body::{Body as _, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use resourcesync::{Relation, Uri, UriError, discovery};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{
    connections::CallbackConnections,
    hub_request::{Delivery, Mode},
    signature,
    subscription::Subscription,
};
use crate::{CallbackOptions, Error};

/// The largest delivery that is accepted, in bytes. Notifications are much smaller.
const MOST_BYTES: usize = 1 << 20;
/// The most bytes of headers that are accepted.
const HEADER_BYTES: usize = 16 << 10;
/// The time within which the headers of a request must arrive, and then its body.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The callbacks of all subscriptions.
#[derive(Debug)]
pub(crate) struct Callbacks {
    /// The URL that callbacks begin with; it ends in a slash.
    base: String,
    /// The lease to request from hubs.
    pub(super) lease: Duration,
    server: Arc<CallbackServer>,
    serving: JoinHandle<()>,
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The subscriptions that requests are about, and the connections that requests come over.
#[derive(Debug)]
struct CallbackServer {
    /// The subscriptions by the part of their tokens that stays, so that a request costs the same with any number of them.
    subscriptions: Mutex<BTreeMap<String, Weak<Subscription>>>,
    connections: Mutex<CallbackConnections<IpAddr>>,
    sha1: bool,
}

type CallbackResponse = Response<Full<Bytes>>;

impl Callbacks {
    /// Listens at the address of the options, or by default at that of the callbacks' URL.
    pub(crate) async fn open(options: &CallbackOptions) -> Result<Self, Error> {
        let usage = |what: String| Error::Usage { what };
        if let Err(error @ UriError::NoHost) = Uri::parse(&options.url) {
            return Err(usage(format!("The callback URL {:?} cannot be used: {error}", options.url)));
        }
        let url = url::Url::parse(&options.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url =
            url.ok_or_else(|| usage(format!("The callback URL {:?} is not an http(s) URL", options.url)))?;
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
        let address = options.listen.clone().unwrap_or_else(|| format!("{host}:{port}"));
        let listener = TcpListener::bind(&address)
            .await
            .map_err(|error| usage(format!("Cannot listen on {address} for callbacks: {error}")))?;
        let server = Arc::new(CallbackServer::new(options.sha1));
        let serving = tokio::spawn(accept(listener, Arc::clone(&server)));
        let base = format!("{}/", options.url.trim_end_matches('/'));
        Ok(Self { base, lease: options.lease, server, serving })
    }

    /// Returns the callback of a token.
    pub(super) fn uri(&self, token: &str) -> String {
        format!("{}{token}", self.base)
    }

    /// Answers requests about a subscription while it lives.
    pub(super) fn serve(&self, subscription: &Arc<Subscription>) {
        let mut subscriptions = self.server.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
        subscriptions.retain(|_, subscription| subscription.strong_count() > 0);
        subscriptions.insert(subscription.key().to_owned(), Arc::downgrade(subscription));
    }
}

async fn accept(listener: TcpListener, server: Arc<CallbackServer>) {
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // No more files can be opened, or the client has disconnected. Neither ends the server.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Some((number, end)) = server.connections().open(peer.ip().to_canonical()) else { continue };
        let server = Arc::clone(&server);
        tokio::spawn(async move {
            let _ = end.run_until_cancelled(server.converse(number, stream)).await;
            server.connections().close(number);
        });
    }
}

impl CallbackServer {
    fn new(sha1: bool) -> Self {
        Self { subscriptions: Mutex::default(), connections: Mutex::default(), sha1 }
    }

    fn connections(&self) -> MutexGuard<'_, CallbackConnections<IpAddr>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn converse(&self, number: u64, stream: TcpStream) {
        let service =
            service_fn(move |request| async move { Ok::<_, Infallible>(self.answer(number, request).await) });
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(TIMEOUT).max_buf_size(HEADER_BYTES);
        if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
            tracing::debug!(%error, "a callback's connection ended");
        }
    }

    async fn answer(&self, connection: u64, request: Request<Incoming>) -> CallbackResponse {
        // A proxy may change the path before the token.
        let token = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        let Some(subscription) = self.find(&token) else { return plain(StatusCode::NOT_FOUND) };
        // A connection that named a token belongs to a hub, and is not closed in favour of others.
        self.connections().know(connection);
        match *request.method() {
            Method::GET => intent(&subscription, &token, request.uri().query().unwrap_or_default()),
            Method::POST => self.delivery(&subscription, &token, request).await,
            _ => plain(StatusCode::METHOD_NOT_ALLOWED),
        }
    }

    fn find(&self, token: &str) -> Option<Arc<Subscription>> {
        let subscription = {
            let subscriptions = self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
            subscriptions.get(Subscription::key_of(token)?)?.upgrade()?
        };
        subscription.knows(token).then_some(subscription)
    }

    /// Receives a delivery and answers at once (CN-17). A delivery without a valid signature has no effect (CN-18), but
    /// gets the same answer, so that a forger learns nothing.
    async fn delivery(
        &self,
        subscription: &Subscription,
        token: &str,
        request: Request<Incoming>,
    ) -> CallbackResponse {
        let secret = match subscription.delivered(token) {
            Delivery::Taken { secret } => secret,
            Delivery::Gone => return plain(StatusCode::GONE),
            Delivery::Unknown => return plain(StatusCode::NOT_FOUND),
        };
        let (head, body) = request.into_parts();
        let field = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
        if !is_xml(field(header::CONTENT_TYPE.as_str()).unwrap_or_default()) {
            return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE);
        }
        // A body whose stated length is too large is refused before any of it is read.
        if body.size_hint().lower() > MOST_BYTES as u64 {
            return plain(StatusCode::PAYLOAD_TOO_LARGE);
        }
        let body = match timeout(TIMEOUT, Limited::new(body, MOST_BYTES).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => return plain(StatusCode::PAYLOAD_TOO_LARGE),
            Err(_) => return plain(StatusCode::REQUEST_TIMEOUT),
        };
        if !signature::is_valid(field("x-hub-signature"), &secret, &body, self.sha1) {
            tracing::warn!(topic = %subscription.topic, "a delivery without a valid signature has no effect");
        } else if !is_about(field("link"), &subscription.topic) {
            tracing::warn!(topic = %subscription.topic, "a delivery about another topic has no effect");
        } else {
            subscription.take(body);
        }
        plain(StatusCode::ACCEPTED)
    }
}

/// Answers a verification of intent (WebSub §5.3) or a denial (§5.2).
fn intent(subscription: &Subscription, token: &str, query: &str) -> CallbackResponse {
    let value = |name: &str| {
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find(|(own, _)| own == name).map(|(_, value)| value.into_owned())
    };
    let mode = match value("hub.mode").as_deref() {
        Some("subscribe") => Mode::Subscribe,
        Some("unsubscribe") => Mode::Unsubscribe,
        Some("denied") => {
            subscription.deny(token, &value("hub.reason").unwrap_or_default());
            return plain(StatusCode::OK);
        }
        _ => return plain(StatusCode::BAD_REQUEST),
    };
    let granted = value("hub.lease_seconds").and_then(|lease| lease.trim().parse().ok());
    let granted = granted.map(|seconds: u32| Duration::from_secs(seconds.into()));
    let topic = value("hub.topic").unwrap_or_default();
    match value("hub.challenge") {
        Some(challenge) if subscription.verify(token, mode, &topic, granted) => {
            let mut answer = Response::new(Full::new(Bytes::from(challenge)));
            let plain_text = http::HeaderValue::from_static("text/plain; charset=utf-8");
            answer.headers_mut().insert(header::CONTENT_TYPE, plain_text);
            answer
        }
        _ => plain(StatusCode::NOT_FOUND),
    }
}

/// Returns `true` for the media types that a notification has (CN-21).
fn is_xml(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(essence.as_str(), "application/xml" | "text/xml") || essence.ends_with("+xml")
}

/// Returns `true` if the `self` link of a delivery is the topic, or if it has none: then its callback shows the topic
/// (CN-17).
fn is_about(links: Option<&str>, topic: &Uri) -> bool {
    let own = Relation::parse("self");
    let links = links.map(|field| discovery::parse_link_header(field, topic)).unwrap_or_default();
    let mut own = links.iter().filter(|link| link.rels.contains(&own)).peekable();
    own.peek().is_none() || own.any(|link| link.target == *topic)
}

fn plain(status: StatusCode) -> CallbackResponse {
    let mut answer = Response::new(Full::new(Bytes::new()));
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests;
