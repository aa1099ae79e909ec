//! The result of one attempt of a search.

use http::StatusCode;
use instep_net::HttpError;

use super::Discovered;
use crate::documents::{DocumentError, Download};

/// The result of one attempt.
pub(super) enum Sight {
    /// A document that can be used, and the sets that it leads to.
    Found(Discovered),
    /// Other content than a document: its links are tried next.
    Page(Download),
    /// A document that arrived and cannot be used.
    Broken,
    /// The server answers that there is nothing (status 404 or 410).
    Gone,
    /// The server refuses the request. Object storage may also answer so if there is no such object.
    Denied,
    /// It is not requested: another scheme, or a host that is not allowed.
    Refused,
    /// There is no answer, or one that does not show if there is a document.
    Nothing,
}

impl Sight {
    /// Returns the result of an attempt to which no document came.
    pub(super) fn of(error: &DocumentError) -> Self {
        let DocumentError::Http(error) = error else { return Self::Nothing };
        match error.status() {
            Some(StatusCode::NOT_FOUND | StatusCode::GONE) => Self::Gone,
            Some(StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS) => Self::Nothing,
            Some(status) if status.is_client_error() => Self::Denied,
            None if matches!(error, HttpError::Refused { .. }) => Self::Refused,
            _ => Self::Nothing,
        }
    }
}
