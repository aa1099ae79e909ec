//! Requests that brought no usable answer, told beside the URL: that is said once.

use std::{error::Error as StdError, fmt};

use instep_net::HttpError;

/// The reason why a URL did not answer, without the URL.
#[derive(Debug)]
pub(crate) struct WithoutUrl(pub(crate) HttpError);

impl fmt::Display for WithoutUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            HttpError::Connect { .. } => f.write_str("no connection"),
            HttpError::Transfer { .. } => f.write_str("the transfer broke off"),
            HttpError::Timeout { phase, limit, .. } => write!(f, "{phase} took longer than {limit:?}"),
            HttpError::Status { status, .. } => write!(f, "it answers {status}"),
            HttpError::Refused { reason, .. } => write!(f, "it is not requested: {reason}"),
            other => other.fmt(f),
        }
    }
}

impl StdError for WithoutUrl {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0 {
            HttpError::Connect { source, .. } | HttpError::Transfer { source, .. } => Some(&**source),
            _ => None,
        }
    }
}
