//! The methods of a route: `OPTIONS` names them, and so does the answer to any other method (C31).

use axum::{
    response::{IntoResponse, Response},
    routing::MethodRouter,
};
use http::{Method, StatusCode, header};

/// The methods of what can only be read.
pub(crate) const READ_ONLY: &str = "GET, HEAD, OPTIONS";
/// The methods of what only takes requests.
pub(crate) const TAKES_POSTS: &str = "POST, OPTIONS";

/// Answers the methods that a route does not have: `OPTIONS` with 204, others with 405, both with `allow`, the methods
/// that it has. For the routes of a [`Gateway`](super::Gateway) too.
pub fn with_methods<S>(allow: &'static str, route: MethodRouter<S>) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    route.fallback(move |method: Method| async move { answer(&method, allow) })
}

/// Answers a request with a method that is not served.
pub(crate) fn answer(method: &Method, allow: &'static str) -> Response {
    let is_asked = method == Method::OPTIONS;
    let status = if is_asked { StatusCode::NO_CONTENT } else { StatusCode::METHOD_NOT_ALLOWED };
    (status, [(header::ALLOW, allow)]).into_response()
}
