//! Connections that are open, and requests on them.
//!
//! A connection of HTTP/1 has no task of its own: whoever waits for its answer moves it on. For a small resource the hops
//! between tasks cost as much as the transfer.

use std::{
    fmt,
    pin::{Pin, pin},
    sync::Arc,
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

use super::{HttpOptions, hosts::Host, stream::Stream};

/// A request that can be sent again.
pub(crate) type Message = http::Request<Full<Bytes>>;

/// An open connection.
pub(crate) enum Connection {
    /// Of HTTP/1: for one request at a time.
    Single(Box<Single>),
    /// Of HTTP/2: for any number.
    Shared(http2::SendRequest<Full<Bytes>>),
}

/// One of HTTP/1.
pub(crate) struct Single {
    sender: http1::SendRequest<Full<Bytes>>,
    /// What reads and writes; none once the connection has ended.
    driver: Option<http1::Connection<Stream, Full<Bytes>>>,
    /// Whether the other end is a proxy, which wants to be told the whole URI.
    proxied: bool,
}

/// Why a request has no answer, and the request where it was not sent.
pub(crate) struct Unanswered {
    pub(crate) error: hyper::Error,
    pub(crate) message: Option<Message>,
}

impl Connection {
    /// Agrees with the other end on how to speak.
    pub(crate) async fn over(stream: Stream) -> hyper::Result<Self> {
        if stream.speaks_http_2() {
            let (sender, driver) = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .adaptive_window(true)
                .max_header_list_size(HttpOptions::HEADER_BYTES as u32)
                .handshake(stream)
                .await?;
            tokio::spawn(async move {
                if let Err(error) = driver.await {
                    tracing::debug!(%error, "a connection of HTTP/2 ended");
                }
            });
            return Ok(Self::Shared(sender));
        }
        let proxied = stream.proxied;
        let (sender, driver) =
            http1::Builder::new().max_buf_size(HttpOptions::HEADER_BYTES).handshake(stream).await?;
        Ok(Self::Single(Box::new(Single { sender, driver: Some(driver), proxied })))
    }

    /// Sends a request to a host and waits for the headers of the answer.
    pub(crate) async fn send(
        self,
        host: &Arc<Host>,
        message: Message,
    ) -> Result<Response<Carried>, Box<Unanswered>> {
        let (answer, lease) = match self {
            Self::Single(mut single) => {
                let answer = single.send(message).await?;
                (answer, Some(Lease { single: Some(single), host: Arc::clone(host) }))
            }
            Self::Shared(mut sender) => {
                if let Err(error) = sender.ready().await {
                    return Err(Box::new(Unanswered { error, message: Some(message) }));
                }
                let answer = sender.try_send_request(message).await;
                let answer = answer.map_err(|mut error| {
                    let message = error.take_message();
                    Box::new(Unanswered { error: error.into_error(), message })
                })?;
                (answer, None)
            }
        };
        Ok(answer.map(|incoming| Carried { incoming, lease }))
    }
}

impl Single {
    async fn send(&mut self, mut message: Message) -> Result<Response<Incoming>, Box<Unanswered>> {
        let target = message.uri().clone();
        if let Some(host) = host_header(&target) {
            message.headers_mut().insert(header::HOST, host);
        }
        if !self.proxied {
            let path = target.path_and_query().cloned();
            *message.uri_mut() = path.unwrap_or_else(|| PathAndQuery::from_static("/")).into();
        }
        let mut answer = pin!(self.sender.try_send_request(message));
        let driver = &mut self.driver;
        let answer = std::future::poll_fn(|context| {
            drive(driver, context);
            answer.as_mut().poll(&mut quiet())
        });
        answer.await.map_err(|mut error| {
            let message = error.take_message().map(|mut message| {
                *message.uri_mut() = target;
                message
            });
            Box::new(Unanswered { error: error.into_error(), message })
        })
    }

    fn is_free(&self) -> bool {
        self.driver.is_some() && self.sender.is_ready()
    }
}

/// Moves a connection on as far as it goes.
fn drive(driver: &mut Option<http1::Connection<Stream, Full<Bytes>>>, context: &mut Context<'_>) {
    // How it ended, those hear who wait for something of it.
    if driver.as_mut().is_some_and(|driver| Pin::new(driver).poll(context).is_ready()) {
        *driver = None;
    }
}

/// For what becomes ready only while the connection is driven: nobody else need be woken for it.
fn quiet() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// Host and port as they are written; the usual port and user information are left out.
fn host_header(target: &http::Uri) -> Option<HeaderValue> {
    let authority = target.authority()?.as_str();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let usual = if target.scheme_str() == Some("https") { ":443" } else { ":80" };
    HeaderValue::from_str(host.strip_suffix(usual).or_else(|| host.strip_suffix(':')).unwrap_or(host)).ok()
}

/// A body, and the connection that it comes over. The connection is free again when the body has come to its end.
pub(crate) struct Carried {
    incoming: Incoming,
    lease: Option<Lease>,
}

impl Carried {
    pub(crate) fn is_end(&self) -> bool {
        self.incoming.is_end_stream()
    }

    pub(crate) fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let Some(single) = self.lease.as_mut().and_then(|lease| lease.single.as_mut()) else {
            return Pin::new(&mut self.incoming).poll_frame(context);
        };
        let mut frame = Pin::new(&mut self.incoming).poll_frame(&mut quiet());
        if frame.is_pending() {
            drive(&mut single.driver, context);
            frame = Pin::new(&mut self.incoming).poll_frame(&mut quiet());
        }
        if matches!(frame, Poll::Ready(None)) {
            self.lease = None;
        }
        frame
    }
}

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carried").field("end", &self.is_end()).finish_non_exhaustive()
    }
}

/// A connection in use; given back to its host when dropped, if it can be used again.
struct Lease {
    single: Option<Box<Single>>,
    host: Arc<Host>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(mut single) = self.single.take() else { return };
        // What is left of a short body nobody wanted has arrived already.
        if !single.is_free() {
            drive(&mut single.driver, &mut quiet());
        }
        if single.is_free() {
            self.host.open.keep(single);
        }
    }
}
