//! Batches: many resources in one answer.
//!
//! A client posts a JSON array of URIs, or `{"since": "..."}`, and gets a ZIP with a manifest. More than the limits
//! allow is answered with 413, unknown URIs with 422 and their list. Small members have sizes and CRC in their local
//! header, so that the ZIP can be read while it arrives. A member that no longer matches its line of the manifest is
//! left out, and clients fetch it by `loc`. The Capability List names the service by an `rs:ln` whose relation is a
//! URI of this project.

mod admission;
mod asked;

use std::{fs::File, sync::Arc};

use axum::{
    Json, Router,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::post,
};
use http::{StatusCode, header};
use resourcesync::{DateTime, Link, Relation, Uri};
use serde_json::json;
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    task::spawn_blocking,
};

use admission::{BatchAdmission, BatchRefusal};
use asked::BatchBody;

use super::{
    body,
    file_body::FileBody,
    methods::{TAKES_POSTS, with_methods},
    spool::{BuildState, Building, PackageClaim, PackageSpool},
};
use crate::{
    Error, PublishMonitor, PublishOptions,
    dump::{Batch, BatchLimits, BatchRequest, BatchSelection, Batches},
    publish::SourceContext,
    render::SourcePlace,
};

/// Bytes of packages on disk.
const SPOOL_BYTES: u64 = 2 << 30;
/// Seconds after which a client may ask again while there is no room.
const RETRY_AFTER: &str = "5";

/// The last part of an endpoint's URI.
const NAME: &str = "batch";

/// Names the endpoint of each set in its Capability List.
pub(crate) fn advertise(publish: &mut PublishOptions) -> Result<(), Error> {
    let place = SourcePlace::new(&publish.base_url)?;
    for set in &mut publish.sets {
        let endpoint = place.set(&set.name).uri(NAME);
        set.capability_links.push(Link::new(Relation::parse(Relation::BATCH), endpoint));
    }
    Ok(())
}

/// Returns the endpoints, below the base URL.
pub(crate) fn routes(source: &SourceContext, monitor: &Arc<dyn PublishMonitor>) -> Result<Router, Error> {
    let folder = source.options().state.join("batches");
    let spool = PackageSpool::new(&folder, SPOOL_BYTES).map_err(Error::write(folder))?;
    let admission = Arc::new(BatchAdmission::new());
    let mut routes = Router::new();
    for (set, options) in (0_u8..).zip(&source.options().sets) {
        let endpoint = Endpoint {
            set,
            batches: source.batches(),
            spool: Arc::clone(&spool),
            admission: Arc::clone(&admission),
            monitor: Arc::clone(monitor),
        };
        let path = format!("/{}", source.place().set(&options.name).name(NAME));
        routes = routes.route(&path, with_methods(TAKES_POSTS, post(answer)).with_state(Arc::new(endpoint)));
    }
    Ok(routes)
}

/// The state behind the route of one set.
struct Endpoint {
    set: u8,
    batches: Batches,
    spool: Arc<PackageSpool>,
    admission: Arc<BatchAdmission>,
    monitor: Arc<dyn PublishMonitor>,
}

async fn answer(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let permit = match endpoint.admission.body(request.headers()) {
        Ok(permit) => permit,
        Err(BatchRefusal::TooLarge) => {
            return refused(StatusCode::PAYLOAD_TOO_LARGE, "the request is too long");
        }
        Err(BatchRefusal::Busy) => return busy(),
    };
    let body = match body::read(request.into_body(), permit.most_bytes).await {
        Ok(body) => body,
        Err(status) => {
            return refused(status, "the request is too long, took too long, or its coding is damaged");
        }
    };
    let Ok(worker) = endpoint.admission.worker().await else { return busy() };
    let Ok(asked) = serde_json::from_slice(&body) else { return refused(StatusCode::BAD_REQUEST, ASKED) };
    drop(body);
    let selection = match selection(asked) {
        Ok(selection) => selection,
        Err(Wrong::Count(most)) => {
            let what = "resources";
            return refusal(&Error::TooMuch { what, most });
        }
        Err(Wrong::Time) => return refused(StatusCode::BAD_REQUEST, ASKED),
        Err(Wrong::Uris(uris)) => return unknown(&uris),
    };
    let for_selection = Arc::clone(&endpoint);
    let request = BatchRequest::new(endpoint.set, selection);
    match spawn_blocking(move || for_selection.batches.select(&request)).await {
        Ok(Ok(batch)) => {
            drop(permit);
            package(&endpoint, batch, worker).await
        }
        Ok(Err(error)) => refusal(&error),
        Err(_) => refused(StatusCode::INTERNAL_SERVER_ERROR, "the batch could not be selected"),
    }
}

const ASKED: &str = "send a JSON array of URIs, or {\"since\": \"2026-01-01T00:00:00Z\"}";

/// An invalid request.
enum Wrong {
    /// The request names more resources than this, the most that a batch may have.
    Count(u64),
    Time,
    Uris(Vec<String>),
}

fn selection(asked: BatchBody) -> Result<BatchSelection, Wrong> {
    match asked {
        BatchBody::TooMany => Err(Wrong::Count(BatchLimits::default().resources as u64)),
        BatchBody::Since(since) => {
            DateTime::parse(&since).map(BatchSelection::Since).map_err(|_| Wrong::Time)
        }
        BatchBody::Resources(texts) => {
            let (mut uris, mut wrong) = (Vec::with_capacity(texts.len()), Vec::new());
            for text in texts {
                match Uri::parse(&text) {
                    Ok(uri) => uris.push(uri),
                    Err(_) => wrong.push(text),
                }
            }
            if wrong.is_empty() { Ok(BatchSelection::Resources(uris)) } else { Err(Wrong::Uris(wrong)) }
        }
    }
}

/// Answers with a package. Only the builder keeps the worker; the others wait for the package.
async fn package(endpoint: &Arc<Endpoint>, batch: Batch, worker: OwnedSemaphorePermit) -> Response {
    /// The approximate size of a manifest entry and the headers of a member.
    const OVERHEAD: u64 = 1_024;
    let bytes = batch.bytes + OVERHEAD * batch.resources as u64;
    let package = match endpoint.spool.claim(&batch.key, bytes) {
        PackageClaim::Shared(package) => {
            drop((worker, batch));
            package
        }
        PackageClaim::Full => return busy(),
        PackageClaim::Build(building) => {
            let package = building.package();
            let endpoint = Arc::clone(endpoint);
            spawn_blocking(move || {
                build(&endpoint, batch, building);
                drop(worker);
            });
            package
        }
    };
    ready(package).await
}

fn build(endpoint: &Endpoint, batch: Batch, building: Building) {
    let built = building.file().map_err(Error::write("batch")).and_then(|mut file| {
        endpoint.batches.build(batch, &mut file, &*endpoint.monitor)?;
        Ok(file)
    });
    match built {
        Ok(file) => building.finish(file),
        Err(error) => {
            tracing::error!(%error, "a batch could not be built");
            building.fail("the batch could not be built");
        }
    }
}

async fn ready(mut package: watch::Receiver<BuildState>) -> Response {
    let progress = package.wait_for(|progress| !matches!(progress, BuildState::Building)).await;
    match progress.as_deref() {
        Ok(BuildState::Ready(file)) => send(file),
        Ok(BuildState::Failed(why)) => refused(StatusCode::INTERNAL_SERVER_ERROR, why),
        Ok(BuildState::Building) | Err(_) => busy(),
    }
}

fn send(file: &Arc<File>) -> Response {
    let Ok(length) = file.metadata().map(|metadata| metadata.len()) else { return busy() };
    let body = Body::new(FileBody::new(Arc::clone(file), 0..length));
    let headers = [
        (header::CONTENT_TYPE, "application/zip".to_owned()),
        (header::CONTENT_LENGTH, length.to_string()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    (headers, body).into_response()
}

fn refusal(error: &Error) -> Response {
    match error {
        Error::UnknownResources { uris } => unknown(uris),
        Error::TooMuch { .. } => refused(StatusCode::PAYLOAD_TOO_LARGE, &error.to_string()),
        Error::TooEarly { .. } => refused(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()),
        Error::Options { .. } => refused(StatusCode::NOT_FOUND, &error.to_string()),
        _ => {
            tracing::error!(%error, "a batch could not be selected");
            busy()
        }
    }
}

fn unknown(uris: &[String]) -> Response {
    let error = "these are not resources of this set";
    (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({ "error": error, "unknown": uris }))).into_response()
}

fn busy() -> Response {
    let mut response = refused(StatusCode::SERVICE_UNAVAILABLE, "ask again later");
    response.headers_mut().insert(header::RETRY_AFTER, http::HeaderValue::from_static(RETRY_AFTER));
    response
}

fn refused(status: StatusCode, error: &str) -> Response {
    (status, Json(json!({ "error": error }))).into_response()
}
