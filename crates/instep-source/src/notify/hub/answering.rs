//! Requests of subscribers: read, admitted or refused.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use resourcesync::Uri;

use super::{Hub, request::SubscriptionRequest, verifications::Targets};
use crate::serve::body;

/// The bytes of a request to the hub that are read.
const REQUEST_BYTES: usize = 16 * 1024;

/// Answers a request to the hub.
pub(crate) async fn answer_request(State(hub): State<Arc<Hub>>, request: Request) -> Response {
    let asked = match read_request(request).await {
        Ok((_, asked)) => asked,
        Err((status, what)) => return refused(status, what),
    };
    match hub.admit(&asked).await {
        Ok(targets) => {
            hub.warn_of_secret(&asked);
            tokio::spawn(hub.follow_up(asked, targets));
            StatusCode::ACCEPTED.into_response()
        }
        Err((status, what)) => refused(status, what),
    }
}

/// A reason why a request is not followed up: the status and the words of the answer.
pub(super) type RequestRefusal = (StatusCode, &'static str);

/// Reads a request to the hub: its form, and the meaning of that.
pub(super) async fn read_request(request: Request) -> Result<(Bytes, SubscriptionRequest), RequestRefusal> {
    let (parts, body) = request.into_parts();
    let media_type =
        parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if media_type.starts_with("application/xml") {
        return Err((StatusCode::FORBIDDEN, "this hub serves the topics of its own Source"));
    }
    if !media_type.starts_with("application/x-www-form-urlencoded") {
        return Err((StatusCode::NOT_ACCEPTABLE, "send application/x-www-form-urlencoded"));
    }
    let form = body::read(body, REQUEST_BYTES)
        .await
        .map_err(|status| (status, "the request is too long, took too long, or its coding is damaged"))?;
    let asked = SubscriptionRequest::parse(&form).map_err(|what| (StatusCode::BAD_REQUEST, what))?;
    Ok((form, asked))
}

impl Hub {
    /// Returns the networks that are asked for a request, or the reason why it is refused.
    pub(super) async fn admit(&self, asked: &SubscriptionRequest) -> Result<Targets, RequestRefusal> {
        if !self.topics.contains_key(&asked.topic) {
            return Err((StatusCode::NOT_FOUND, "there is no such topic"));
        }
        let refused = |what| (StatusCode::BAD_REQUEST, what);
        let callback = Uri::parse(&asked.callback).ok().filter(is_of_the_web);
        let callback = callback.ok_or(refused("hub.callback is not an http or https URL"))?;
        let targets = if self.client.admits(&callback) { self.targets(&callback).await } else { None };
        let targets = targets.ok_or(refused("hub.callback is not at an address that may be asked"))?;
        if self.admits(&targets).await {
            Ok(targets)
        } else {
            Err((StatusCode::TOO_MANY_REQUESTS, "this callback's network was asked too often"))
        }
    }
}

fn is_of_the_web(uri: &Uri) -> bool {
    let scheme = uri.as_str().split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

/// Returns the answer to a request that is not followed up.
pub(super) fn refused(status: StatusCode, what: &'static str) -> Response {
    let mut response = (status, what).into_response();
    let later = match status {
        StatusCode::TOO_MANY_REQUESTS => Some(HeaderValue::from_static("60")),
        StatusCode::SERVICE_UNAVAILABLE => Some(HeaderValue::from_static("5")),
        _ => None,
    };
    response.headers_mut().extend(later.map(|later| (header::RETRY_AFTER, later)));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o259_a_callback_is_an_http_or_https_url() {
        for (uri, expected) in [
            ("http://example.org/", true),
            ("HTTPS://example.org/", true),
            ("ftp://example.org/", false),
            ("urn:example:callback", false),
        ] {
            assert_eq!(is_of_the_web(&Uri::parse(uri).unwrap()), expected, "{uri}");
        }
    }
}
