//! Routes that are replaced while a server runs.

use std::sync::{Arc, PoisonError, RwLock};

use axum::{
    Router,
    extract::Request,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use tower::ServiceExt as _;

/// Seconds after which a client may ask again while nothing is published.
const RETRY_AFTER: &str = "2";

/// The routes of a server. Each request is answered by those that are there when it arrives.
#[derive(Clone, Debug)]
pub(super) struct SwitchedRoutes(Arc<RwLock<Router>>);

impl SwitchedRoutes {
    /// Answers 503 until there are routes.
    pub(super) fn unpublished() -> Self {
        let unpublished = || async {
            let headers = [(header::RETRY_AFTER, RETRY_AFTER), (header::CACHE_CONTROL, "no-store")];
            (StatusCode::SERVICE_UNAVAILABLE, headers, "not published yet\n")
        };
        let routes = Router::new().route("/healthz", get(|| async { "alive\n" })).fallback(unpublished);
        Self(Arc::new(RwLock::new(routes)))
    }

    /// Answers by other routes from now on.
    pub(super) fn set(&self, routes: Router) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = routes;
    }

    /// Returns a router that always has the present routes.
    pub(super) fn router(&self) -> Router {
        let routes = self.clone();
        Router::new().fallback(move |request: Request| {
            let present = routes.0.read().unwrap_or_else(PoisonError::into_inner).clone();
            async move { present.oneshot(request).await.into_response() }
        })
    }
}
