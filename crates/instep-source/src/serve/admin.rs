//! The listener for applications and the operator: never that of the public, never without a token (S3).

mod access;
mod threads;

use std::{fmt, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use http::{StatusCode, header};
use serde_json::{Value, json};
use tokio::{sync::watch, task::spawn_blocking, time::timeout};

use super::methods::{READ_ONLY, TAKES_POSTS, with_methods};
use crate::{
    Error, PublishMonitor, Publisher,
    catalogue::Catalogue,
    content::Holdings,
    live::PublicationRequests,
    scan::{ReportedChange, ScanOptions, record_reported},
    status::Overview,
};
pub use access::ADMIN_FILE;
pub(crate) use access::Access;
use threads::RecordingThreads;

/// Changes of one request.
const MOST_CHANGES: usize = 1_000;
/// Bytes of one request.
const REQUEST_BYTES: usize = 4 << 20;
/// The time limit of a request.
const REQUEST_TIME: Duration = Duration::from_secs(60);

/// The time limit of a compaction, which rewrites the catalogue.
const COMPACTION_TIME: Duration = Duration::from_secs(1_800);

/// The listener for applications and the operator.
#[derive(Clone)]
#[non_exhaustive]
pub struct AdminOptions {
    /// A loopback address and a port; port 0 takes any free one. `unix:PATH` is a socket there.
    pub listen: String,
    /// The token of each request, as `Authorization: Bearer TOKEN`; `None` if each start makes a new one.
    pub token: Option<String>,
}

impl Default for AdminOptions {
    fn default() -> Self {
        Self { listen: "127.0.0.1:0".to_owned(), token: None }
    }
}

/// Leaves out the token.
impl fmt::Debug for AdminOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminOptions").field("listen", &self.listen).finish_non_exhaustive()
    }
}

/// The state of the listener's routes.
pub(crate) struct Admin {
    pub(crate) recorder: Recorder,
    pub(crate) requests: PublicationRequests,
    pub(crate) overview: watch::Receiver<Arc<Overview>>,
}

/// Records changes reported by applications.
pub(crate) struct Recorder {
    holdings: Holdings,
    catalogue: Catalogue,
    options: ScanOptions,
    monitor: Arc<dyn PublishMonitor>,
    threads: RecordingThreads,
}

impl Recorder {
    pub(crate) fn new(publisher: &Publisher, monitor: &Arc<dyn PublishMonitor>) -> Self {
        Self {
            holdings: publisher.holdings().clone(),
            catalogue: publisher.catalogue().clone(),
            options: ScanOptions::new(publisher.options()),
            monitor: Arc::clone(monitor),
            threads: RecordingThreads::new(),
        }
    }

    fn record(&self, reported: Vec<ReportedChange>) -> Result<Value, Error> {
        let recorded =
            record_reported(&self.holdings, &self.catalogue, reported, &self.options, &*self.monitor)?;
        Ok(json!({
            "sequence": recorded.sequence,
            "created": recorded.created,
            "updated": recorded.updated,
            "deleted": recorded.deleted,
        }))
    }
}

/// Returns the routes; each of them, and each unknown path, requires the token.
pub(crate) fn routes(admin: Arc<Admin>, token: &str) -> Router {
    let expected = blake3::hash(token.as_bytes());
    Router::new()
        .route("/changes", with_methods(TAKES_POSTS, post(changes)))
        .route("/scan", with_methods(TAKES_POSTS, post(scan)))
        .route("/compact", with_methods(TAKES_POSTS, post(compact)))
        .route("/status", with_methods(READ_ONLY, get(status)))
        .fallback(|| async { StatusCode::NOT_FOUND })
        .with_state(admin)
        .layer(DefaultBodyLimit::max(REQUEST_BYTES))
        .layer(middleware::from_fn(move |request: Request, next: Next| authorize(expected, request, next)))
}

/// Refuses a request without the token. Digests are compared, which takes the same time for every token.
async fn authorize(expected: blake3::Hash, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| bearer_token(value.as_bytes()));
    let given = given.map(blake3::hash);
    if given != Some(expected) {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")]).into_response();
    }
    let limit = if request.uri().path() == "/compact" { COMPACTION_TIME } else { REQUEST_TIME };
    timeout(limit, next.run(request)).await.unwrap_or_else(|_| StatusCode::REQUEST_TIMEOUT.into_response())
}

/// Returns the token of credentials whose scheme is `Bearer`, in any case (RFC 9110 §11.1).
fn bearer_token(credentials: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = credentials.split_at_checked("bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

/// Records changes reported by an application, and answers when they are durable.
async fn changes(State(admin): State<Arc<Admin>>, body: Bytes) -> Response {
    let reported = match reported_changes(&body) {
        Ok(reported) => reported,
        Err(what) => return (StatusCode::BAD_REQUEST, Json(json!({ "error": what }))).into_response(),
    };
    let threads = admin.recorder.threads.clone();
    let record = move || {
        let recorded = admin.recorder.record(reported)?;
        admin.requests.recorded();
        Ok::<_, Error>(recorded)
    };
    match threads.run(record).await {
        Ok(Ok(recorded)) => Json(recorded).into_response(),
        Ok(Err(error)) => failed(&error.to_string()),
        Err(error) => failed(&error.to_string()),
    }
}

async fn scan(State(admin): State<Arc<Admin>>) -> StatusCode {
    match spawn_blocking(move || admin.requests.scan_everything()).await {
        Ok(()) => StatusCode::ACCEPTED,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// Drops unneeded parts of the change log; recording waits meanwhile.
async fn compact(State(admin): State<Arc<Admin>>) -> Response {
    let compact = move || crate::publish::compact(&admin.recorder.catalogue);
    let done = match spawn_blocking(compact).await {
        Ok(Ok(done)) => done,
        Ok(Err(error)) => return failed(&error.to_string()),
        Err(error) => return failed(&error.to_string()),
    };
    Json(json!({ "forgotten": done.forgotten, "before": done.before, "after": done.after })).into_response()
}

async fn status(State(admin): State<Arc<Admin>>) -> Response {
    let overview = Arc::clone(&admin.overview.borrow());
    Json(&*overview).into_response()
}

/// Reads one change or an array of them: `uri`, `change` and the known state, named as in a manifest; or messages of
/// object storage.
fn reported_changes(body: &[u8]) -> Result<Vec<ReportedChange>, String> {
    let json: Value = serde_json::from_slice(body).map_err(|error| format!("not JSON: {error}"))?;
    let items = match json {
        Value::Array(items) => items,
        item => vec![item],
    };
    if items.len() > MOST_CHANGES {
        return Err(format!("{} changes; at most {MOST_CHANGES} at once", items.len()));
    }
    let mut reported = Vec::with_capacity(items.len());
    for (number, item) in items.into_iter().enumerate() {
        reported
            .extend(ReportedChange::list_from_json(item).map_err(|what| format!("item {number}: {what}"))?);
    }
    Ok(reported)
}

fn failed(what: &str) -> Response {
    tracing::error!(error = what, "the catalogue fails");
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5")]).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o910_the_token_of_the_listener_is_not_shown() {
        let options = AdminOptions { token: Some("hunter2".to_owned()), ..AdminOptions::default() };
        assert!(!format!("{options:?}").contains("hunter2"));
    }

    #[test]
    fn o366_the_scheme_of_a_token_is_known_in_any_case() {
        for credentials in ["Bearer t0", "bearer t0", "BEARER  t0 "] {
            assert_eq!(bearer_token(credentials.as_bytes()), Some(&b"t0"[..]), "{credentials}");
        }
        for credentials in ["", "t0", "Bearer", "Basic t0", "Bearert0"] {
            assert_eq!(bearer_token(credentials.as_bytes()), None, "{credentials}");
        }
    }

    #[test]
    fn what_an_application_says_is_checked_item_by_item() {
        let both = br#"[{"uri":"http://a/b","change":"created","length":3},{"uri":"http://a/c","change":"deleted"}]"#;
        let both_changes = reported_changes(both).unwrap();
        assert!(matches!(&both_changes[0], ReportedChange::Add { state, .. } if state.length == Some(3)));
        assert!(matches!(&both_changes[1], ReportedChange::Remove { .. }));
        assert_eq!(reported_changes(br#"{"uri":"http://a/b"}"#).unwrap().len(), 1);
        for wrong in
            [&b"nonsense"[..], b"[1]", br#"{"uri":"b"}"#, br#"{"uri":"http://a/b","change":"moved"}"#]
        {
            assert!(reported_changes(wrong).is_err(), "{}", String::from_utf8_lossy(wrong));
        }
        let many = format!("[{}]", vec![r#"{"uri":"http://a/b"}"#; 1_001].join(","));
        assert!(reported_changes(many.as_bytes()).is_err());
    }
}
