//! The JSON API of a fleet, version 1. `openapi.json` describes it, and a test compares the answers with that
//! description.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::to_bytes,
    extract::{Path as UriPath, Query, RawQuery, State},
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use http::{HeaderMap, StatusCode, header};
use instep_fleet::{FleetError, FleetWorker, SourceDefinition, SourceName, SourceOperation};
use resourcesync::DateTime;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    json::{source_object, survey_object},
    selection::{SourceQuery, only},
    served::{ServedFleet, seconds, status_of},
};
use crate::args::values;

/// The description of the API.
const OPENAPI: &str = include_str!("openapi.json");

/// The most bytes of a refusal of the router that are passed on.
const LONGEST_REFUSAL: usize = 16 << 10;

/// Returns the routes of the API, below `/api/v1`.
pub(super) fn routes() -> Router<Arc<ServedFleet>> {
    Router::new()
        .route("/openapi.json", get(openapi))
        .route("/fleet", get(fleet))
        .route("/sources", get(sources).post(add))
        .route("/sources/{name}", get(source))
        .route("/sources/{name}/looks", get(looks))
        .route("/sources/{name}/documents", get(documents))
        .route("/sources/{name}/{operation}", post(operate))
        .route("/actions", get(actions))
        .route("/workers", get(workers))
        .method_not_allowed_fallback(|| async {
            failed(
                StatusCode::METHOD_NOT_ALLOWED,
                "this address has another method; /api/v1/openapi.json has all",
            )
        })
        .fallback(nothing)
        .layer(middleware::map_response(with_json))
}

/// Gives the refusals of the router the JSON form of all others. It refuses a `page` that is not a number, for example.
async fn with_json(response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_text = kind.is_some_and(|kind| kind.starts_with("text/plain"));
    if !response.status().is_client_error() || !is_text {
        return response;
    }
    let status = response.status();
    let what = to_bytes(response.into_body(), LONGEST_REFUSAL).await.unwrap_or_default();
    failed(status, String::from_utf8_lossy(&what))
}

fn failed(status: StatusCode, what: impl ToString) -> Response {
    (status, Json(json!({ "error": what.to_string() }))).into_response()
}

/// Answers for an address that the API does not have.
pub(super) async fn nothing() -> Response {
    failed(StatusCode::NOT_FOUND, "there is no such address; /api/v1/openapi.json has all")
}

/// Refuses a request without the token of an operator, and names the scheme that it needs (RFC 9110 §11.6.1).
fn unauthorized() -> Response {
    let refused = failed(StatusCode::UNAUTHORIZED, "operators only: send Authorization: Bearer TOKEN");
    ([(header::WWW_AUTHENTICATE, "Bearer")], refused).into_response()
}

fn refused(error: &FleetError) -> Response {
    failed(status_of(error), error)
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

async fn fleet(State(served): State<Arc<ServedFleet>>) -> Json<Value> {
    let (states, figures) = (served.fleet.states(), served.fleet.figures());
    let states: serde_json::Map<_, _> =
        states.into_iter().map(|(state, number)| (state.as_str().to_owned(), json!(number))).collect();
    let looks: serde_json::Map<_, _> =
        figures.looks.iter().map(|(code, number)| (code.to_string(), json!(number))).collect();
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "states": states,
        "running": figures.running,
        "due": figures.ready,
        "due_new": figures.ready_new,
        "looks": looks,
        "changed": figures.changed,
        "transferred": figures.transferred,
        "bytes": figures.bytes,
        "bytes_per_second": served.rate(),
        "held_back": figures.held_back,
        "record_fault": figures.record_fault,
        "outage": figures.outage,
    }))
}

async fn workers(State(served): State<Arc<ServedFleet>>) -> Json<Value> {
    let object = |worker: FleetWorker| {
        json!({
            "id": worker.id, "name": worker.name, "url": worker.url,
            "since": DateTime::from_unix_seconds(worker.began).to_string(), "running": worker.running,
        })
    };
    Json(json!({ "workers": served.fleet.workers().into_iter().map(object).collect::<Vec<_>>() }))
}

async fn sources(
    State(served): State<Arc<ServedFleet>>,
    RawQuery(names): RawQuery,
    Query(query): Query<SourceQuery>,
) -> Response {
    // Unknown states and parameters are refused: a program that misspells one must not get all Sources instead.
    if let Err(what) = only(names.as_deref(), &SourceQuery::NAMES) {
        return failed(StatusCode::BAD_REQUEST, what);
    }
    if let Err(what) = query.check() {
        return failed(StatusCode::BAD_REQUEST, what);
    }
    let now = seconds();
    let selected = served.fleet.page(&query.request());
    // A page beyond the last one is empty. The dashboard shows the last page instead, but a program that reads pages
    // until one is empty would never end.
    let is_behind = query.page.filter(|page| *page > selected.pages);
    let sources = selected.sources.iter().filter(|_| is_behind.is_none());
    let objects: Vec<_> = sources.map(|source| source_object(source, now)).collect();
    Json(json!({
        "sources": objects, "matching": selected.matching, "page": is_behind.unwrap_or(selected.page),
        "pages": selected.pages,
    }))
    .into_response()
}

async fn source(State(served): State<Arc<ServedFleet>>, UriPath(name): UriPath<SourceName>) -> Response {
    match served.fleet.source(&name) {
        Some(source) => Json(source_object(&source, seconds())).into_response(),
        None => refused(&FleetError::Unknown { name }),
    }
}

async fn looks(State(served): State<Arc<ServedFleet>>, UriPath(name): UriPath<SourceName>) -> Response {
    if served.fleet.source(&name).is_none() {
        return refused(&FleetError::Unknown { name });
    }
    let looks = match served.fleet.looks(&name).await {
        Ok(looks) => looks,
        Err(error) => return refused(&error),
    };
    let object = |look: &instep_fleet::LookSample| {
        json!({
            "at": DateTime::from_unix_seconds(look.at).to_string(), "exit_code": look.exit_code, "lag_seconds": look.lag,
            "held": look.held, "bytes": look.bytes, "pending": look.pending, "changed": look.changed,
            "transferred": look.transferred,
        })
    };
    Json(json!({ "looks": looks.iter().map(object).collect::<Vec<_>>() })).into_response()
}

async fn documents(State(served): State<Arc<ServedFleet>>, UriPath(name): UriPath<SourceName>) -> Response {
    if served.fleet.source(&name).is_none() {
        return refused(&FleetError::Unknown { name });
    }
    match served.fleet.survey(&name).await {
        Ok(survey) => Json(survey_object(&survey.unwrap_or_default())).into_response(),
        Err(error) => refused(&error),
    }
}

/// The query of the log of actions.
#[derive(Debug, Deserialize)]
struct ActionQuery {
    /// Only actions with a smaller id are returned; `None` for the newest.
    before: Option<i64>,
}

async fn actions(
    State(served): State<Arc<ServedFleet>>,
    RawQuery(names): RawQuery,
    Query(query): Query<ActionQuery>,
    headers: HeaderMap,
) -> Response {
    if served.access.signed_in(&headers).is_none() {
        return unauthorized();
    }
    if let Err(what) = only(names.as_deref(), &["before"]) {
        return failed(StatusCode::BAD_REQUEST, what);
    }
    match served.fleet.actions(query.before.unwrap_or(i64::MAX), 100).await {
        Ok(lines) => {
            let object = |line: &instep_fleet::AuditLine| {
                json!({
                    "id": line.id, "at": DateTime::from_unix_seconds(line.at).to_string(), "who": line.who,
                    "what": line.what, "source": line.source,
                })
            };
            Json(json!({ "actions": lines.iter().map(object).collect::<Vec<_>>() })).into_response()
        }
        Err(error) => refused(&error),
    }
}

/// A Source as a client of the API adds it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AddedSource {
    name: Option<SourceName>,
    url: String,
    #[serde(default)]
    delete: bool,
    #[serde(default)]
    approve: bool,
}

/// Returns the operator who sends a request with a token. A cookie is not sufficient here, because browsers may also
/// send it with requests that pages of other sites make.
///
/// Errors: the answer that refuses the request.
fn operator(served: &ServedFleet, headers: &HeaderMap) -> Result<String, Box<Response>> {
    match served.access.signed_in(headers) {
        Some(operator) if operator.mark.is_none() => Ok(operator.who),
        _ => Err(Box::new(unauthorized())),
    }
}

async fn add(
    State(served): State<Arc<ServedFleet>>,
    headers: HeaderMap,
    added: Result<Json<AddedSource>, axum::extract::rejection::JsonRejection>,
) -> Response {
    let who = match operator(&served, &headers) {
        Ok(who) => who,
        Err(response) => return *response,
    };
    let Json(added) = match added {
        Ok(added) => added,
        // Bytes that are not JSON get the same status as JSON of another form.
        Err(error) if error.status() == StatusCode::BAD_REQUEST => {
            return failed(StatusCode::UNPROCESSABLE_ENTITY, error.body_text());
        }
        Err(error) => return failed(error.status(), error.body_text()),
    };
    let url = match values::url(&added.url) {
        Ok(url) => url.into_string(),
        Err(error) => return failed(StatusCode::UNPROCESSABLE_ENTITY, error),
    };
    let known = served.fleet.sources();
    // A request that is sent again because the answer was lost must not make a second copy of the Source.
    let same = known.iter().find(|source| source.definition.has_url(&url)).filter(|_| added.name.is_none());
    if let Some(same) = same {
        let what =
            format!("{url} is kept already, as {}; give a name for a second copy", same.definition.name);
        return failed(StatusCode::CONFLICT, what);
    }
    let taken = known.iter().map(|source| source.definition.name.clone()).collect();
    let name = added.name.unwrap_or_else(|| SourceName::propose(None, &url, &taken));
    let mut definition = SourceDefinition::new(name.clone(), url);
    (definition.delete, definition.approve) = (added.delete, added.approve);
    match served.fleet.add(&definition, &who).await {
        Ok(()) => match served.fleet.source(&name) {
            Some(source) => (StatusCode::CREATED, Json(source_object(&source, seconds()))).into_response(),
            None => refused(&FleetError::Unknown { name }),
        },
        Err(error) => refused(&error),
    }
}

async fn operate(
    State(served): State<Arc<ServedFleet>>,
    UriPath((name, operation)): UriPath<(SourceName, String)>,
    headers: HeaderMap,
) -> Response {
    let who = match operator(&served, &headers) {
        Ok(who) => who,
        Err(response) => return *response,
    };
    let Some(operation) = SourceOperation::ALL.into_iter().find(|known| known.as_str() == operation) else {
        return failed(StatusCode::NOT_FOUND, format!("{operation:?} is not an operation"));
    };
    match served.fleet.operate(operation, &name, &who).await {
        Ok(()) => Json(json!({ "name": name, "operation": operation.as_str() })).into_response(),
        Err(error) => refused(&error),
    }
}
