//! Routes that are replaced while a server runs, and the task that answers by them.

use std::{
    future::Future,
    io,
    sync::{Arc, PoisonError, RwLock},
};

use axum::{
    Router,
    extract::Request,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use tower::ServiceExt as _;

use super::{
    connection::{ServerLimits, serve_on},
    tls::Tls,
};

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

/// A server at work on a task of its own. Dropping it closes the listener and all connections.
#[derive(Debug)]
pub(super) struct ServerTask {
    ending: watch::Sender<bool>,
    task: JoinHandle<io::Result<()>>,
}

impl ServerTask {
    /// Starts to answer requests.
    pub(super) fn start(
        listener: TcpListener,
        routes: Router,
        limits: ServerLimits,
        tls: Option<Tls>,
    ) -> Self {
        let (ending, mut is_ending) = watch::channel(false);
        let task = tokio::spawn(async move {
            let end = async move { drop(is_ending.wait_for(|ending| *ending).await) };
            serve_on(listener, routes, limits, tls, end).await
        });
        Self { ending, task }
    }

    /// Answers until `ending`, then finishes the answers in flight.
    ///
    /// # Errors
    /// If the listener fails permanently.
    pub(super) async fn until(mut self, ending: impl Future<Output = ()>) -> io::Result<()> {
        let ended = tokio::select! {
            () = ending => {
                self.ending.send_replace(true);
                (&mut self.task).await
            }
            ended = &mut self.task => ended,
        };
        ended.map_err(io::Error::other)?
    }
}

impl Drop for ServerTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}
