//! Passes the exchanges of a client to an archive, as they were sent and received.

use std::{fmt, time::SystemTime};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use resourcesync::Uri;

/// Receives each request that was answered with something other than a transient failure. Its functions are called in
/// tasks that must not block.
pub trait ExchangeObserver: fmt::Debug + Send + Sync {
    /// Receives the heads of a request and its answer. The returned value receives the body.
    fn answered(&self, exchange: Exchange<'_>) -> Box<dyn BodyObserver>;
}

/// Receives the body of one answer.
pub trait BodyObserver: Send + Sync {
    /// Receives a piece of the body as it arrived: in the coding of the server, without chunks.
    fn data(&mut self, data: &Bytes);

    /// Receives the end. `is_whole` is `false` if the body is incomplete.
    fn ended(self: Box<Self>, is_whole: bool);
}

/// A request and its answer, without credentials and without bodies. It is borrowed: an observer copies what it needs.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The URI that was requested.
    pub uri: &'a Uri,
    /// The method.
    pub method: &'a Method,
    /// The headers of the request. Credentials of the operator are left out.
    pub request_headers: &'a HeaderMap,
    /// The status.
    pub status: StatusCode,
    /// The headers of the answer.
    pub headers: &'a HeaderMap,
    /// The time at which the answer began.
    pub at: SystemTime,
}
