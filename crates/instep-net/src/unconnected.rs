//! Connections that did not come about: the reason, found in the chain of its causes.

use std::{error::Error as StdError, io};

use resourcesync::Uri;

use crate::{
    connector::BoxError,
    error::{HttpError, Refusal},
    failure::ProtocolFailure,
};

/// Finds the reason of a failed connection in the chain of its causes.
pub(crate) fn connect_failure(uri: &Uri, source: BoxError) -> HttpError {
    if let Some(reason) = cause::<Refusal>(&*source) {
        return HttpError::Refused { uri: uri.to_string(), reason: reason.clone() };
    }
    // A certificate that is wrong, or an option that cannot be used, stays so.
    let transient = cause::<rustls::Error>(&*source).is_none() && cause::<HttpError>(&*source).is_none();
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
