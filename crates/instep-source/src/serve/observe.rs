//! Counters and the access log of the traffic, and the check of the host that a request names.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http_body::Body as _;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use super::{
    framing,
    host::AcceptedHosts,
    methods::{self, READ_ONLY},
};
use crate::status::Overview;

/// The figures of one application. They are not in a global recorder: a program that mounts the router has its own.
pub(crate) struct Metrics {
    exposition: PrometheusHandle,
    by_class: [metrics::Counter; 5],
    bytes: metrics::Counter,
    resources: metrics::Gauge,
    resource_bytes: metrics::Gauge,
    publications: metrics::Counter,
    last_success: metrics::Gauge,
    unwatched: metrics::Gauge,
    request_number: AtomicU64,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let recorder = PrometheusBuilder::new().build_recorder();
        let exposition = recorder.handle();
        metrics::with_local_recorder(&recorder, || {
            metrics::describe_counter!("instep_http_requests_total", "Requests answered, by class of status");
            metrics::describe_counter!(
                "instep_http_response_bytes_total",
                "Bytes of answers, without headers"
            );
            metrics::describe_gauge!("instep_resources", "Resources published");
            metrics::describe_gauge!("instep_resource_bytes", "Bytes of the resources published");
            metrics::describe_counter!("instep_publications_total", "Publications since the start");
            metrics::describe_gauge!(
                "instep_last_success_timestamp_seconds",
                "When documents were last current"
            );
            metrics::describe_gauge!(
                "instep_unwatched_folders",
                "Folders that are scanned because they cannot be watched"
            );
            let class = |class| metrics::counter!("instep_http_requests_total", "class" => class);
            Self {
                exposition,
                by_class: ["1xx", "2xx", "3xx", "4xx", "5xx"].map(class),
                bytes: metrics::counter!("instep_http_response_bytes_total"),
                resources: metrics::gauge!("instep_resources"),
                resource_bytes: metrics::gauge!("instep_resource_bytes"),
                publications: metrics::counter!("instep_publications_total"),
                last_success: metrics::gauge!("instep_last_success_timestamp_seconds"),
                unwatched: metrics::gauge!("instep_unwatched_folders"),
                request_number: AtomicU64::new(1),
            }
        })
    }

    /// Returns all figures in the text format that Prometheus reads.
    pub(crate) fn exposition(&self, overview: &Overview) -> String {
        self.resources.set(overview.resources() as f64);
        self.resource_bytes.set(overview.bytes() as f64);
        self.publications.absolute(overview.publications);
        let published = overview.published.map_or(0, |published| published.unix_micros());
        self.last_success.set(published as f64 / 1e6);
        self.unwatched.set(overview.unwatched_folders as f64);
        self.exposition.render()
    }

    fn count(&self, response: &Response) -> u64 {
        let bytes = response.body().size_hint().exact().unwrap_or_default();
        let class = usize::from(response.status().as_u16() / 100).clamp(1, 5);
        self.by_class[class - 1].increment(1);
        self.bytes.increment(bytes);
        bytes
    }
}

/// Observes the requests of one application.
#[derive(Debug)]
pub(crate) struct Observer {
    pub(crate) metrics: Metrics,
    /// The hosts that requests may name.
    pub(crate) hosts: AcceptedHosts,
}

/// Counts a request and writes its line of the access log: target `instep::access`.
pub(crate) async fn observe(State(observer): State<Arc<Observer>>, request: Request, next: Next) -> Response {
    if let Some(refusal) = framing::refusal(&request) {
        return refusal;
    }
    if let Err(refusal) = observer.hosts.check(&request) {
        return refusal.into_response();
    }
    if request.uri().path() == "*" {
        // The server itself (RFC 9110 §9.3.7), which no route is about.
        let response = methods::answer(request.method(), READ_ONLY);
        observer.metrics.count(&response);
        return response;
    }
    if !tracing::enabled!(target: "instep::access", tracing::Level::INFO) {
        let response = next.run(request).await;
        observer.metrics.count(&response);
        return response;
    }
    let begun = Instant::now();
    let number = observer.metrics.request_number.fetch_add(1, Ordering::Relaxed);
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let response = next.run(request).await;
    let bytes = observer.metrics.count(&response);
    tracing::info!(
        target: "instep::access",
        request = number,
        %method,
        path = uri.path(),
        status = response.status().as_u16(),
        bytes,
        micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
    );
    response
}
