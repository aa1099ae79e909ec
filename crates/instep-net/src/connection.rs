//! Requests on an open connection.
//!
//! An HTTP/1 connection has no task of its own: the caller that waits for its response drives it. For a small
//! resource the switches between tasks would cost as much as the transfer.

use std::{
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{HeaderValue, Response, header, uri::PathAndQuery};
use http_body::{Body as _, Frame};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::stream::Stream;

/// The most bytes of headers (D28). More is an attack or a broken server; hyper would accept 400 KB.
pub(crate) const HEADER_BYTES: usize = 64 << 10;

/// The flow-control window of HTTP/2: the bytes that a server may send before it must wait for this side, of one answer
/// and of all answers over a connection. It allows 20 MB/s at a round trip of 200 ms from the first byte on. An adaptive
/// window begins with 64 KiB and needs many round trips to grow.
const STREAM_BYTES: u32 = 4 << 20;
const CONNECTION_BYTES: u32 = 16 << 20;

/// A request as it is sent. It can be sent again.
pub(crate) type OutgoingRequest = http::Request<Full<Bytes>>;

/// An open connection.
pub(crate) enum Connection {
    /// A connection of HTTP/1, for one request at a time.
    Single(Box<Single>),
    /// A connection of HTTP/2, for any number of requests.
    Shared(Multiplexed),
}

/// A connection of HTTP/2. Clones are the same connection.
#[derive(Clone)]
pub(crate) struct Multiplexed {
    sender: http2::SendRequest<Full<Bytes>>,
    /// `true` once an answer did not come in time.
    is_abandoned: Arc<AtomicBool>,
}

/// A connection of HTTP/1.
pub(crate) struct Single {
    sender: http1::SendRequest<Full<Bytes>>,
    /// The part that reads and writes; `None` once the connection has ended.
    driver: Option<http1::Connection<Stream, Full<Bytes>>>,
    /// The other end is a proxy, which expects the complete URI.
    is_proxied: bool,
}

/// The headers of an answer, its arriving body, and the connection that carries it if it carries nothing else.
pub(crate) type ResponseHead = (Response<Incoming>, Option<Box<Single>>);

/// The error of a request without an answer, and the request itself if nothing of it was sent.
pub(crate) struct Unanswered {
    pub(crate) error: hyper::Error,
    pub(crate) unsent: Option<OutgoingRequest>,
}

impl Connection {
    /// Begins to speak HTTP over an open connection.
    pub(crate) async fn over(stream: Stream) -> hyper::Result<Self> {
        if stream.speaks_http_2() {
            let (sender, driver) = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .initial_stream_window_size(STREAM_BYTES)
                .initial_connection_window_size(CONNECTION_BYTES)
                .max_header_list_size(HEADER_BYTES as u32)
                .handshake(stream)
                .await?;
            tokio::spawn(async move {
                if let Err(error) = driver.await {
                    tracing::debug!(%error, "a connection of HTTP/2 ended");
                }
            });
            return Ok(Self::Shared(Multiplexed { sender, is_abandoned: Arc::default() }));
        }
        let is_proxied = stream.is_proxied();
        // Old servers fold long headers and write a blank before the colon. Both are obsolete (RFC 9112 §5) and accepted.
        let (sender, driver) = http1::Builder::new()
            .max_buf_size(HEADER_BYTES)
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true)
            .handshake(stream)
            .await?;
        Ok(Self::Single(Box::new(Single { sender, driver: Some(driver), is_proxied })))
    }

    /// Returns the connection itself if it carries other requests too.
    pub(crate) fn multiplexed(&self) -> Option<Multiplexed> {
        match self {
            Self::Single(_) => None,
            Self::Shared(shared) => Some(shared.clone()),
        }
    }

    /// Sends a request and waits for the headers of its answer.
    pub(crate) async fn send(self, message: OutgoingRequest) -> Result<ResponseHead, Box<Unanswered>> {
        match self {
            Self::Single(mut single) => {
                let answer = single.send(message).await?;
                Ok((answer, Some(single)))
            }
            Self::Shared(Multiplexed { mut sender, .. }) => {
                if let Err(error) = sender.ready().await {
                    return Err(Box::new(Unanswered { error, unsent: Some(message) }));
                }
                let answer = sender.try_send_request(message).await.map_err(|mut error| {
                    let unsent = error.take_message();
                    Box::new(Unanswered { error: error.into_error(), unsent })
                })?;
                Ok((answer, None))
            }
        }
    }
}

impl Multiplexed {
    /// Lets no further request use the connection. A network that forgot it, as after a change of the route, drops what
    /// is sent over it without a word, for as long as the system repeats it: a quarter of an hour.
    pub(crate) fn abandon(&self) {
        self.is_abandoned.store(true, Relaxed);
    }

    /// Returns `true` if no request can be sent over it any more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_abandoned.load(Relaxed) || self.sender.is_closed()
    }
}

impl Single {
    async fn send(&mut self, mut message: OutgoingRequest) -> Result<Response<Incoming>, Box<Unanswered>> {
        let target = message.uri().clone();
        if let Some(host) = host_header(&target) {
            message.headers_mut().insert(header::HOST, host);
        }
        if !self.is_proxied {
            let path = target.path_and_query().cloned();
            *message.uri_mut() = path.unwrap_or_else(|| PathAndQuery::from_static("/")).into();
        }
        let mut answer = pin!(self.sender.try_send_request(message));
        let driver = &mut self.driver;
        let answer = std::future::poll_fn(|context| {
            drive(driver, context);
            answer.as_mut().poll(&mut without_waker())
        });
        answer.await.map_err(|mut error| {
            let unsent = error.take_message().map(|mut message| {
                *message.uri_mut() = target;
                message
            });
            Box::new(Unanswered { error: error.into_error(), unsent })
        })
    }

    /// Returns `true` if the connection can take another request.
    pub(crate) fn is_free(&self) -> bool {
        self.driver.is_some() && self.sender.is_ready()
    }

    /// Reads the bytes that have arrived, without waiting for more.
    pub(crate) fn catch_up(&mut self) {
        drive(&mut self.driver, &mut without_waker());
    }

    /// Polls a body that arrives over this connection.
    pub(crate) fn poll_frame(
        &mut self,
        body: &mut Incoming,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = Pin::new(&mut *body).poll_frame(&mut without_waker());
        if frame.is_ready() {
            return frame;
        }
        drive(&mut self.driver, context);
        Pin::new(body).poll_frame(&mut without_waker())
    }
}

/// Reads and writes as far as the connection allows. The result is ignored: the pending request or body reports the
/// error.
fn drive(driver: &mut Option<http1::Connection<Stream, Full<Bytes>>>, context: &mut Context<'_>) {
    if driver.as_mut().is_some_and(|driver| Pin::new(driver).poll(context).is_ready()) {
        *driver = None;
    }
}

/// Returns a context without a waker: a future polled with it becomes ready only while the same task drives the connection.
fn without_waker() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// Returns host and port as they are written, without the usual port and without user information.
fn host_header(target: &http::Uri) -> Option<HeaderValue> {
    let authority = target.authority()?.as_str();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let usual = if target.scheme_str() == Some("https") { ":443" } else { ":80" };
    HeaderValue::from_str(host.strip_suffix(usual).or_else(|| host.strip_suffix(':')).unwrap_or(host)).ok()
}
