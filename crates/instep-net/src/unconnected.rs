//! Connections that did not come about or ended without an answer: the reason, found in the chain of its causes.

use std::{error::Error as StdError, io};

use http::StatusCode;
use resourcesync::Uri;

use crate::{
    connector::BoxError,
    error::{HttpError, Refusal, is_transient},
    failure::ProtocolFailure,
    proxy::ProxyFailure,
};

/// Finds the reason of a failed connection in the chain of its causes.
pub(crate) fn connect_failure(uri: &Uri, source: BoxError) -> HttpError {
    if let Some(reason) = cause::<Refusal>(&*source) {
        return HttpError::Refused { uri: uri.to_string(), reason: reason.clone() };
    }
    let refused = match cause::<ProxyFailure>(&*source) {
        Some(ProxyFailure::Refused { status, .. }) => Some(*status),
        _ => None,
    };
    if refused == Some(StatusCode::PROXY_AUTHENTICATION_REQUIRED) {
        // The same error as for plain http, where the proxy's 407 is the answer to the request itself.
        let status = StatusCode::PROXY_AUTHENTICATION_REQUIRED;
        return HttpError::Status { uri: uri.to_string(), status, retry_after: None };
    }
    // Another attempt does not help against a wrong certificate or an option that cannot be used.
    let transient = cause::<rustls::Error>(&*source).is_none()
        && cause::<HttpError>(&*source).is_none()
        && refused.is_none_or(is_transient);
    // A server without TLS may end the connection at its first bytes.
    let ended = causes(&*source)
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::UnexpectedEof);
    let failure = cause::<rustls::Error>(&*source).and_then(ProtocolFailure::of);
    let source = match failure.or(ended.then_some(ProtocolFailure::NotTls)) {
        Some(failure) => failure.into(),
        None => source,
    };
    HttpError::Connect { uri: uri.to_string(), transient, source }
}

/// Returns the meaning of a request that was sent and got no answer.
pub(crate) fn unanswered_failure(uri: &Uri, error: hyper::Error) -> HttpError {
    let uri = uri.to_string();
    // With TLS 1.3 a server refuses a client only after the client has sent its first request.
    if let Some(failure) = cause::<rustls::Error>(&error).and_then(ProtocolFailure::of) {
        return HttpError::Connect { uri, transient: false, source: failure.into() };
    }
    let source = match ProtocolFailure::of_answer(&error) {
        Some(failure) => failure.into(),
        None => error.into(),
    };
    HttpError::Transfer { uri, source }
}

/// Returns `true` if a connection ended before an answer began. Servers end those of HTTP/2 after a number of requests,
/// and answer none of those that are on their way (RFC 9113 §6.8).
pub(crate) fn is_closed_unanswered(error: &hyper::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    // The last one is the end of a connection without the end of TLS, which many servers leave out.
    let is_closing = |error: &io::Error| {
        matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
    };
    let is_over = |error: &h2::Error| {
        error.is_go_away() || error.is_io() || error.reason() == Some(h2::Reason::REFUSED_STREAM)
    };
    error.is_incomplete_message()
        || cause::<h2::Error>(error).is_some_and(is_over)
        || cause::<io::Error>(error).is_some_and(is_closing)
}

/// Returns the reason for a body that breaks off.
pub(crate) fn broken_body(error: hyper::Error) -> BoxError {
    // rustls reports a missing close_notify only by this kind of `io::Error`.
    let lacks_end = causes(&error).filter_map(|error| error.downcast_ref::<io::Error>()).any(|error| {
        error.kind() == io::ErrorKind::UnexpectedEof && error.to_string().contains("close_notify")
    });
    if lacks_end { ProtocolFailure::NoEndOfTls.into() } else { error.into() }
}

/// Returns the first error of a type in a chain.
fn cause<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    causes(error).find_map(|error| error.downcast_ref())
}

/// Returns the errors of a chain. An `io::Error` hides the error that it wraps, so its content is included.
fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| {
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped as &(dyn StdError + 'static)),
            None => error.source(),
        }
    })
}
