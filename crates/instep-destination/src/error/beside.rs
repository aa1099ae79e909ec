//! Errors that are shown beside their URL, which is printed only once (P15).

use std::{borrow::Borrow, error::Error as StdError, fmt};

use instep_net::HttpError;
use instep_store::error_chain;

/// An error that may name a URL.
pub(crate) trait BesideUrl {
    /// Returns the error with its causes in one line, for a sentence or a report that names this URL already.
    fn beside(&self, url: &str) -> String;
}

/// The reason why a URL did not answer, without the URL.
#[derive(Debug)]
pub(crate) struct WithoutUrl<E>(pub(crate) E);

impl<E: Borrow<HttpError>> fmt::Display for WithoutUrl<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.borrow() {
            HttpError::Connect { .. } => f.write_str("no connection"),
            HttpError::Transfer { .. } => f.write_str("the transfer broke off"),
            HttpError::Timeout { phase, limit, .. } => write!(f, "{phase} took longer than {limit:?}"),
            HttpError::Status { status, .. } => write!(f, "it answers {status}"),
            HttpError::Refused { reason, .. } => write!(f, "it is not requested: {reason}"),
            other => other.fmt(f),
        }
    }
}

impl<E: Borrow<HttpError> + fmt::Debug> StdError for WithoutUrl<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self.0.borrow() {
            HttpError::Connect { source, .. } | HttpError::Transfer { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

impl BesideUrl for HttpError {
    fn beside(&self, url: &str) -> String {
        if self.uri() == Some(url) { error_chain(&WithoutUrl(self)) } else { error_chain(self) }
    }
}
