//! Cross-origin requests: pages of other origins may read documents, channels included, if the operator allows it.
//!
//! A resource gets no such header: access to it is a decision of the operator's own server.

use axum::{extract::Request, middleware::Next, response::Response};
use http::{HeaderValue, Method, header};

use super::documents;

/// Lets pages of any origin read the answer if it is a document; documents do not depend on the client.
pub(crate) async fn allow_any_origin(request: Request, next: Next) -> Response {
    let is_document = documents::owns(request.uri().path().trim_start_matches('/'));
    let method = request.method().clone();
    let mut response = next.run(request).await;
    if is_document && [Method::GET, Method::HEAD, Method::OPTIONS].contains(&method) {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        if method == Method::OPTIONS {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD"));
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
        }
    }
    response
}
