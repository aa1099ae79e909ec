//! The route of a repository, and its way from a request to a response.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{Method, StatusCode, header};
use instep_source::serve::{Gateway, SourceView, with_methods};
use instep_store::error_chain;
use tokio::task::spawn_blocking;

use super::{
    arguments::{OaiRequest, pairs},
    error::AnswerError,
    index::RepositoryIndex,
    lists::Answers,
    options::RepositoryOptions,
    xml,
};
use crate::datestamp::Granularity;

/// The path below the base URL.
const PATH: &str = "oai";
/// Bytes of the arguments of a POST.
const MOST_ARGUMENTS: usize = 64 << 10;
/// Resources by which the index follows the catalogue before it lets others in.
const STEP: usize = 1_000;
/// The longest that a request waits for the index; after that the client must repeat it.
const PATIENCE: Duration = Duration::from_secs(20);
/// Seconds after which such a request should be repeated.
const RETRY_AFTER: &str = "5";

/// OAI-PMH 2.0 over the resources of a Source, at `oai` below its base URL.
///
/// A harvested resource keeps its former identifier and format. Any other resource has its URI, a generated
/// description in Dublin Core, and, if it is XML, the format of its root element. A record's datestamp is the time at
/// which the change was published.
#[derive(Debug)]
pub struct OaiGateway {
    state: PathBuf,
    options: RepositoryOptions,
}

impl OaiGateway {
    /// Returns a repository whose index is in the state folder of the Source.
    pub fn new(state: impl Into<PathBuf>, options: RepositoryOptions) -> Self {
        Self { state: state.into(), options }
    }
}

impl Gateway for OaiGateway {
    fn routes(&self, source: &Arc<SourceView>) -> io::Result<Router> {
        let index = RepositoryIndex::open(&self.state).map_err(io::Error::other)?;
        let base_url = source.place().uri(PATH).into_string();
        let answerer = Answerer {
            view: Arc::clone(source),
            index: Mutex::new(index),
            base_url,
            options: self.options.clone(),
        };
        Ok(Router::new()
            .route(&format!("/{PATH}"), with_methods("GET, HEAD, POST, OPTIONS", get(answer).post(answer)))
            .with_state(Arc::new(answerer)))
    }
}

/// The state behind the route.
struct Answerer {
    view: Arc<SourceView>,
    index: Mutex<RepositoryIndex>,
    base_url: String,
    options: RepositoryOptions,
}

async fn answer(State(answerer): State<Arc<Answerer>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let query = match head.method {
        Method::POST => match to_bytes(body, MOST_ARGUMENTS).await {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) => return StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        },
        _ => head.uri.query().unwrap_or_default().to_owned(),
    };
    match spawn_blocking(move || answerer.respond(&query)).await {
        Ok(Ok(text)) => {
            ([(header::CONTENT_TYPE, "text/xml; charset=utf-8")], Body::from(text)).into_response()
        }
        Ok(Err(error)) => {
            match error {
                AnswerError::Behind => tracing::info!("a harvester is asked to come back: {error}"),
                _ => tracing::error!("a harvester cannot be answered: {}", error_chain(&error)),
            }
            (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, RETRY_AFTER)]).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

impl Answerer {
    fn respond(&self, query: &str) -> Result<String, AnswerError> {
        let began = Instant::now();
        loop {
            let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
            // The time of a response is that of the state it shows: a harvester that begins its next list there
            // misses nothing.
            if let Some(snapshot) = index.follow(&self.view, STEP)? {
                let arguments = pairs(query);
                let date = Granularity::Second.write(snapshot.at().instant().0);
                let answers = Answers {
                    view: &self.view,
                    index: &index,
                    snapshot: &snapshot,
                    part: self.options.part.max(1),
                };
                let result = match OaiRequest::read(&arguments, &index.key) {
                    Ok(request) => answers.answer(request, &self.base_url, &self.options)?,
                    Err(fault) => Err(fault),
                };
                return Ok(xml::response(&date, &self.base_url, &arguments, result));
            }
            drop(index);
            if began.elapsed() > PATIENCE {
                return Err(AnswerError::Behind);
            }
        }
    }
}
