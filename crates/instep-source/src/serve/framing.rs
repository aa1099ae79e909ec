//! The framing of a request: one that two readers may divide differently is refused, and its connection closed (S14).

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};

/// Returns the refusal of an ambiguous request: `Transfer-Encoding` beside a length, several times, or with another
/// coding than `chunked` (RFC 9112 §6.1, C23).
pub(crate) fn refusal(request: &Request) -> Option<Response> {
    is_ambiguous(request.headers())
        .then(|| (StatusCode::BAD_REQUEST, [(header::CONNECTION, "close")]).into_response())
}

fn is_ambiguous(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else { return false };
    let is_chunked = coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    !is_chunked || codings.next().is_some() || headers.contains_key(header::CONTENT_LENGTH)
}
