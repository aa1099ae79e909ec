//! The server of the dashboard: pages, actions of operators, the API, metrics, and events when something has changed.

use std::{
    convert::Infallible,
    net::SocketAddr,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use axum::{
    Form, Router,
    body::Body,
    extract::{Path as UriPath, Query, Request, State},
    middleware::{self, Next},
    response::{
        IntoResponse, Redirect, Response,
        sse::{Event, KeepAlive, Sse},
    },
    routing::{any, get, post},
};
use futures_util::stream;
use http::{HeaderMap, StatusCode, header};
use instep_fleet::{Fleet, SourceName, SourceOperation};
use instep_source::serve::{self, PageTurns, ServerLimits};
use maud::html;
use tokio::{net::TcpListener, runtime::Handle, sync::watch, time::sleep};

use super::{
    access::OperatorAccess,
    api, metrics,
    overview::{MOST_LOOKS, ShownFleet, overview},
    page_of_source,
    selection::SourceQuery,
    served::{HOSTS, LOG, ServedFleet, seconds, status_of},
    signing::{self, MarkedForm},
};
use crate::{
    fleet::FleetDisplay,
    pages::{
        address,
        copy::hosts_table,
        design::{self, PageBody, moment},
        own_name::{names_port, names_this_machine},
    },
    ui::Output,
};

/// The shortest time between two events for a page: nobody can read a table of a hundred Sources that changes faster.
const BETWEEN_EVENTS: Duration = Duration::from_secs(2);
/// The most lines of the audit log on its page.
const LINES: usize = 200;

/// The longest that the page of a Source waits for the part about its copy.
const LONGEST_READ: Duration = Duration::from_secs(20);

/// The open address of the dashboard, before the fleet is opened.
pub(crate) struct FleetListener {
    listener: TcpListener,
    local: SocketAddr,
}

impl FleetListener {
    /// Listens for the pages of a fleet.
    ///
    /// Errors: the address cannot be listened on, or a proxy's header is trusted although other machines than this one
    /// can send it.
    pub(crate) async fn bind(address: &str, access: &OperatorAccess) -> Result<Self> {
        let listener = address::listen(address).await?;
        let local = listener.local_addr()?;
        if access.trusts_header() && !local.ip().is_loopback() {
            bail!("--operator-header trusts every client: listen on a loopback address, behind the proxy");
        }
        Ok(Self { listener, local })
    }
}

/// The server of the dashboard of a fleet.
pub(crate) struct FleetServer {
    served: Arc<ServedFleet>,
    listener: TcpListener,
    url: String,
}

impl FleetServer {
    /// Returns the server of a fleet in a folder.
    pub(crate) fn new(
        listening: FleetListener,
        dir: &Path,
        access: OperatorAccess,
        fleet: Fleet,
        display: Arc<FleetDisplay>,
    ) -> Self {
        let FleetListener { listener, local } = listening;
        let is_local = local.ip().is_loopback();
        let name = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        let name = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = crate::ui::format::name(&name);
        Self {
            served: Arc::new(ServedFleet {
                fleet,
                display,
                access: access.at_port(local.port()),
                name,
                is_local,
                port: local.port(),
                turns: PageTurns::default(),
                copies: PageTurns::default().within(LONGEST_READ),
            }),
            listener,
            url: format!("http://{local}/"),
        }
    }

    /// Returns the address of the pages.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Answers until `shutdown`.
    ///
    /// Errors: the listener fails for good.
    pub(crate) async fn run(self, shutdown: impl Future<Output = ()>, output: &Output) -> Result<()> {
        output.closing(format!("Dashboard: {}", self.url));
        let mut limits = ServerLimits::default();
        // The grace time is short, because streams of events never end by themselves.
        limits.grace = Duration::from_millis(200);
        let served = serve::run(self.listener, router(self.served), limits, shutdown).await;
        served.context("The server of the dashboard failed")
    }
}

fn router(served: Arc<ServedFleet>) -> Router {
    Router::new()
        .route("/", get(first))
        .route("/source/{name}/", get(page_of_source::first))
        .route("/source/{name}/runs", get(page_of_source::runs))
        .route("/source/{name}/pending", get(page_of_source::pending))
        .route("/source/{name}/{operation}", post(operate))
        .route("/hosts", get(hosts))
        .route("/log", get(log))
        .route("/sign-in", get(signing::page).post(signing::sign_in))
        .route("/sign-out", post(signing::sign_out))
        .route("/events", get(events))
        .route("/metrics", get(metrics_text))
        .route("/assets/{name}", get(asset))
        .nest("/api/v1", api::routes())
        // A nested router has no such path.
        .route("/api/v1/", any(api::nothing))
        .fallback(nothing)
        .layer(middleware::from_fn_with_state(Arc::clone(&served), refuse_other_names))
        .with_state(served)
}

async fn first(
    State(served): State<Arc<ServedFleet>>,
    Query(query): Query<SourceQuery>,
    headers: HeaderMap,
) -> Response {
    let operator = served.access.signed_in(&headers);
    let turns = served.turns.clone();
    let page = turns.make(move || {
        let selected = served.fleet.page(&query.request());
        let names: Vec<_> = selected.sources.iter().map(|source| source.definition.name.clone()).collect();
        let looks = Handle::current().block_on(served.fleet.looks_of(names, MOST_LOOKS));
        let shown = ShownFleet {
            now: seconds(),
            selected,
            states: served.fleet.states(),
            figures: served.fleet.figures(),
            rate: served.rate(),
            workers: if served.fleet.is_shared() { served.fleet.workers() } else { Vec::new() },
            trends: looks,
            query,
        };
        let body = overview(&shown, &format!("Fleet in {}", served.name));
        served.page(&body, "", operator.as_ref())
    });
    page.await.unwrap_or_else(|| StatusCode::SERVICE_UNAVAILABLE.into_response())
}

async fn operate(
    State(served): State<Arc<ServedFleet>>,
    UriPath((name, operation)): UriPath<(SourceName, String)>,
    headers: HeaderMap,
    Form(form): Form<MarkedForm>,
) -> Response {
    let operation = SourceOperation::ALL.into_iter().find(|known| known.as_str() == operation);
    let Some(operation) = operation else { return served.nothing() };
    let Some(operator) = served.access.acting(&headers, &form.mark) else {
        return (StatusCode::FORBIDDEN, "Operators only: sign in, and use the buttons of the page.\n")
            .into_response();
    };
    match served.fleet.operate(operation, &name, &operator.who).await {
        Ok(()) if operation == SourceOperation::Forget => Redirect::to("../../").into_response(),
        Ok(()) => Redirect::to("./").into_response(),
        Err(error) => (status_of(&error), format!("{error}\n")).into_response(),
    }
}

async fn hosts(State(served): State<Arc<ServedFleet>>, headers: HeaderMap) -> Response {
    let figures = served.fleet.figures();
    let waiting: Vec<_> =
        figures.waiting.into_iter().map(|(host, left)| (host, Duration::from_secs(left))).collect();
    let now = Instant::now();
    let hosts = served.display.hosts();
    let hosts: Vec<_> = hosts.iter().map(|(name, host)| host.figures(name, now)).collect();
    let content = hosts_table(&hosts, &waiting);
    let operator = served.access.signed_in(&headers);
    served.page(&PageBody::new(HOSTS, HOSTS, content), "", operator.as_ref())
}

async fn log(State(served): State<Arc<ServedFleet>>, headers: HeaderMap) -> Response {
    let Some(operator) = served.access.signed_in(&headers) else {
        let content = html! {
            p {
                "What operators did is for operators only. "
                @if served.access.has_operators() { a href="sign-in" { "Sign in" } }
                @else { "Nobody can sign in here: instep run --operators FILE names operators." }
            }
        };
        return served.page(&PageBody::new(LOG, LOG, content), "", None);
    };
    let lines = match served.fleet.actions(i64::MAX, LINES).await {
        Ok(lines) => lines,
        Err(error) => return (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    };
    let content = html! {
        @if lines.is_empty() { p { "Nothing yet." } } @else {
            table.listing.stacked.even {
                thead { tr { th scope="col" { "Time" } th scope="col" { "Operator" } th scope="col" { "Action" } th scope="col" { "Source" } } }
                tbody {
                    @for line in &lines {
                        tr {
                            td { (moment(resourcesync::DateTime::from_unix_seconds(line.at))) }
                            td { (line.who) }
                            td { (line.what) }
                            td { @if let Some(source) = &line.source { (source) } }
                        }
                    }
                }
            }
        }
    };
    served.page(&PageBody::new(LOG, LOG, content), "", Some(&operator))
}

async fn metrics_text(State(served): State<Arc<ServedFleet>>) -> Response {
    let states = served.fleet.states();
    let (figures, workers) = (served.fleet.figures(), served.fleet.workers().len());
    let text = metrics::text(&served.name, &states, &figures, workers, &served.display.hosts());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// Streams events that tell a page to reload, when the fleet has changed.
async fn events(State(served): State<Arc<ServedFleet>>) -> Response {
    let next = |mut changed: watch::Receiver<u64>| async move {
        sleep(BETWEEN_EVENTS).await;
        let news = changed.changed().await;
        news.ok().map(|()| (Ok::<_, Infallible>(Event::default().event("changed").data("")), changed))
    };
    Sse::new(stream::unfold(served.fleet.changed(), next)).keep_alive(KeepAlive::default()).into_response()
}

async fn asset(UriPath(name): UriPath<String>) -> Response {
    design::file(&name).map_or_else(|| StatusCode::NOT_FOUND.into_response(), |file| file.map(Body::from))
}

async fn nothing(State(served): State<Arc<ServedFleet>>) -> Response {
    served.nothing()
}

/// Refuses requests that name another host if only this machine can send requests (C8).
async fn refuse_other_names(
    State(served): State<Arc<ServedFleet>>,
    request: Request,
    next: Next,
) -> Response {
    // A proxy that signs operators in passes on the host name that they requested, but not this port: that is only
    // named by a browser which connects to it directly, where a page could name any operator.
    let is_of_proxy = served.access.trusts_header() && !names_port(&request, served.port);
    if served.is_local && !is_of_proxy && !names_this_machine(&request) {
        return StatusCode::MISDIRECTED_REQUEST.into_response();
    }
    next.run(request).await
}
