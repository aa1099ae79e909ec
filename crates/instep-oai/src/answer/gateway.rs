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
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
};

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
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// The most requests at a time. They wait for the index one after the other, and each holds a thread; the server has 512
/// for everything that blocks.
const MOST_AT_ONCE: usize = 16;
/// Seconds after which a request that is not answered should be repeated.
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
            turns: Turns::default(),
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
    turns: Turns,
}

/// The right to a thread, for as many requests as may have one.
struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST_AT_ONCE)))
    }
}

impl Turns {
    /// Takes one of the turns until the result is dropped; `None` if all are taken.
    fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).try_acquire_owned().ok()
    }
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
    let Some(turn) = answerer.turns.take() else { return unanswered(&AnswerError::Busy) };
    let respond = move || {
        let _turn = turn;
        answerer.respond(&query)
    };
    match spawn_blocking(respond).await {
        Ok(Ok(text)) => {
            ([(header::CONTENT_TYPE, "text/xml; charset=utf-8")], Body::from(text)).into_response()
        }
        Ok(Err(error)) => unanswered(&error),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Returns the response to a request that is not answered now.
fn unanswered(error: &AnswerError) -> Response {
    match error {
        AnswerError::Behind | AnswerError::Busy => {
            tracing::info!("a harvester is asked to come back: {error}");
        }
        _ => tracing::error!("a harvester cannot be answered: {}", error_chain(error)),
    }
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, RETRY_AFTER)]).into_response()
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
            if began.elapsed() > LONGEST_WAIT {
                return Err(AnswerError::Behind);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o562_a_limited_number_of_harvesters_hold_threads_of_the_server() {
        let turns = Turns::default();
        let mut taken: Vec<_> = (0..MOST_AT_ONCE).map(|_| turns.take().unwrap()).collect();
        assert!(turns.take().is_none());
        taken.pop();
        assert!(turns.take().is_some());
    }
}
