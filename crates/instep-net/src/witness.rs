//! Exchanges as they go over the wire, told to whoever archives them.

use std::{fmt, time::SystemTime};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use resourcesync::Uri;

/// Hears of each request that was answered with something other than a transient failure. Its functions are called where
/// nothing may wait for long.
pub trait Witness: fmt::Debug + Send + Sync {
    /// Hears the heads of a request and its answer. The value returned hears the body.
    fn answered(&self, exchange: Exchange) -> Box<dyn BodyWitness>;
}

/// Hears the body of one answer.
pub trait BodyWitness: Send + Sync {
    /// Hears a piece of the body, as it came: in the coding of the server, without chunks.
    fn data(&mut self, data: &Bytes);

    /// Hears the end. `is_whole` is `false` if the body was not received to its end.
    fn ended(self: Box<Self>, is_whole: bool);
}

/// A request and its answer, without credentials and without bodies.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exchange {
    /// The URI that was requested.
    pub uri: Uri,
    /// The method.
    pub method: Method,
    /// The headers of the request. Credentials of the operator are left out.
    pub request_headers: HeaderMap,
    /// The status.
    pub status: StatusCode,
    /// The headers of the answer.
    pub headers: HeaderMap,
    /// The time at which the answer began.
    pub at: SystemTime,
}

impl Default for Exchange {
    /// Returns one of 1970, with neither URI nor headers, for whoever tries a [`Witness`].
    fn default() -> Self {
        Self {
            uri: Uri::default(),
            method: Method::GET,
            request_headers: HeaderMap::new(),
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            at: SystemTime::UNIX_EPOCH,
        }
    }
}
