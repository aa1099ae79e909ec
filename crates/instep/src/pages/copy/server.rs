//! The server of the pages of a copy: pages, the state as JSON, and events when something has changed.

use std::{
    convert::Infallible,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use axum::{
    Json, Router,
    body::Body,
    extract::{Path as UriPath, Query, Request, State},
    middleware::{self, Next},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
    routing::get,
};
use futures_util::stream;
use http::StatusCode;
use instep_destination::Status;
use instep_source::serve::{self, PageTurns, ServerLimits};
use maud::html;
use serde::Deserialize;
use serde_json::json;
use tokio::{net::TcpListener, sync::watch, time::sleep};

use super::{
    figures::LiveFigures,
    json::to_json,
    live::{CopyMonitor, LiveRun},
    overview::OVERVIEW,
    shown::{self, PENDING, RUNS},
};
use crate::{
    pages::{
        address,
        chart::ChartRange,
        design::{self, Frame, PageBody},
        own_name::names_this_machine,
    },
    ui::Output,
};

/// The shortest time between two events for a page.
const BETWEEN_EVENTS: Duration = Duration::from_secs(1);
/// The time after which a page is told to reload even if no event came, because another process may keep the copy.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// The server of the pages of a copy.
pub(crate) struct CopyServer {
    copy: Arc<ServedCopy>,
    listener: TcpListener,
}

/// The copy as its pages show it.
struct ServedCopy {
    dir: PathBuf,
    /// The run in this process and the number of its events; `None` if the run is in another process, or there is none.
    live: Option<(Arc<Mutex<LiveRun>>, watch::Receiver<u64>)>,
    /// `true` if the address is a loopback one. Then a request that names another host comes from a page of that host,
    /// and is refused (C8).
    is_local: bool,
    turns: PageTurns,
}

/// The query of a page: the last retry that was shown, and the range of the chart.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CopyQuery {
    after: String,
    range: String,
}

impl CopyServer {
    /// Listens for the pages of the copy in a folder. With a monitor they show the run in progress.
    ///
    /// Errors: the address cannot be listened on.
    pub(crate) async fn listen(
        address: &str,
        dir: &Path,
        monitor: Option<&CopyMonitor<'_>>,
        output: &Output,
    ) -> Result<Self> {
        let listener = address::listen(address).await?;
        let local = listener.local_addr()?;
        let url = format!("http://{local}/");
        output.closing(format!("Status pages: {url}"));
        output.object("ready", json!({ "url": url, "address": local.to_string() }));
        let copy = ServedCopy {
            dir: dir.to_owned(),
            live: monitor.map(|monitor| (monitor.run(), monitor.changed())),
            is_local: local.ip().is_loopback(),
            turns: PageTurns::default(),
        };
        Ok(Self { copy: Arc::new(copy), listener })
    }

    /// Answers until `shutdown`.
    ///
    /// Errors: the listener fails for good.
    pub(crate) async fn run(self, shutdown: impl Future<Output = ()>) -> Result<()> {
        let app = router(self.copy);
        let mut limits = ServerLimits::default();
        // The grace time is short, because streams of events never end by themselves.
        limits.grace = Duration::from_millis(200);
        let served = serve::run(self.listener, app, limits, shutdown).await;
        served.context("The server of the status pages failed")
    }
}

fn router(copy: Arc<ServedCopy>) -> Router {
    Router::new()
        .route("/", get(first))
        .route("/runs", get(past_runs))
        .route("/pending", get(pending_retries))
        .route("/status", get(state))
        .route("/events", get(events))
        .route("/assets/{name}", get(asset))
        .fallback(nothing)
        .layer(middleware::from_fn_with_state(Arc::clone(&copy), refuse_other_names))
        .with_state(copy)
}

impl ServedCopy {
    fn status(&self) -> Result<Status> {
        shown::status(&(*self.dir).into(), self.live.is_some())
    }

    fn first_page(&self, range: ChartRange) -> Result<PageBody> {
        let live = match &self.live {
            Some((run, _)) => Some(run.lock().unwrap_or_else(PoisonError::into_inner).figures()),
            None => LiveFigures::of_other_process(&self.dir),
        };
        shown::first_page(&(*self.dir).into(), &self.name(), live, range)
    }

    /// Returns the name of the copy: that of its folder, without the folders above it.
    fn name(&self) -> String {
        let name = self.dir.canonicalize().unwrap_or_else(|_| self.dir.clone());
        let name = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        format!("Copy in {}", crate::ui::format::name(&name))
    }

    fn page(&self, body: &PageBody) -> Response {
        let frame = Frame {
            name: self.name(),
            assets: "assets/".to_owned(),
            links: vec![
                (OVERVIEW, "./".to_owned()),
                (RUNS, "runs".to_owned()),
                (PENDING, "pending".to_owned()),
            ],
            search: None,
            lists: Vec::new(),
            refresh: Some(10),
            events: Some("events".to_owned()),
        };
        design::page(&frame, body, "").map(Body::from)
    }
}

async fn blocking(
    copy: Arc<ServedCopy>,
    make: impl FnOnce(&ServedCopy) -> Result<PageBody> + Send + 'static,
) -> Response {
    let turns = copy.turns.clone();
    let page = turns.make(move || match make(&copy) {
        Ok(body) => copy.page(&body),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error:#}\n")).into_response(),
    });
    page.await.unwrap_or_else(|| StatusCode::SERVICE_UNAVAILABLE.into_response())
}

async fn first(State(copy): State<Arc<ServedCopy>>, Query(query): Query<CopyQuery>) -> Response {
    let range = ChartRange::parse(&query.range);
    blocking(copy, move |copy| copy.first_page(range)).await
}

async fn past_runs(State(copy): State<Arc<ServedCopy>>) -> Response {
    blocking(copy, |copy| shown::runs_page(&(*copy.dir).into())).await
}

async fn pending_retries(State(copy): State<Arc<ServedCopy>>, Query(query): Query<CopyQuery>) -> Response {
    blocking(copy, move |copy| shown::pending_page(&(*copy.dir).into(), &query.after)).await
}

async fn state(State(copy): State<Arc<ServedCopy>>) -> Response {
    let turns = copy.turns.clone();
    match turns.make(move || copy.status()).await {
        Some(Ok(status)) => Json(to_json(&status)).into_response(),
        _ => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// Streams events that tell a page to reload: when the run has changed, and from time to time.
async fn events(State(copy): State<Arc<ServedCopy>>) -> Response {
    let changed = copy.live.as_ref().map(|(_, changed)| changed.clone());
    let next = |mut changed: Option<watch::Receiver<u64>>| async move {
        sleep(BETWEEN_EVENTS).await;
        match &mut changed {
            Some(changed) => drop(tokio::time::timeout(LOOK_AGAIN, changed.changed()).await),
            None => sleep(LOOK_AGAIN).await,
        }
        Some((Ok::<_, Infallible>(Event::default().event("changed").data("")), changed))
    };
    Sse::new(stream::unfold(changed, next)).keep_alive(KeepAlive::default()).into_response()
}

async fn asset(UriPath(name): UriPath<String>) -> Response {
    design::file(&name).map_or_else(|| StatusCode::NOT_FOUND.into_response(), |file| file.map(Body::from))
}

async fn nothing(State(copy): State<Arc<ServedCopy>>) -> Response {
    let content = html! { p { "There is no such page. " a href="/" { "To the overview" } } };
    let body = PageBody { status: StatusCode::NOT_FOUND, ..PageBody::new("Not found", OVERVIEW, content) };
    copy.page(&body)
}

/// Refuses requests that name another host if only this machine can send requests: a page of any site can make its own
/// name lead here (C8).
async fn refuse_other_names(State(copy): State<Arc<ServedCopy>>, request: Request, next: Next) -> Response {
    if copy.is_local && !names_this_machine(&request) {
        return StatusCode::MISDIRECTED_REQUEST.into_response();
    }
    next.run(request).await
}
