//! The collection of activities of a served Source: written anew when a client requests it after a publication, so that
//! a collection that nobody reads costs nothing.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, TryLockError},
    time::{Duration, Instant},
};

use anyhow::bail;
use axum::{
    Router,
    extract::{Path as UriPath, State},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{StatusCode, header};
use instep_source::serve::{Gateway, SourceView, with_methods};
use tokio::task::spawn_blocking;

use super::{COLLECTION, FOLDER, withdraw, write};

/// Writing the collection takes at most one part in this number of the time, however often it is requested.
const SHARE: u32 = 20;

/// A collection of activities beside the documents of a Source that is served.
#[derive(Debug)]
pub(crate) struct ActivityGateway {
    /// The type of the objects; `None` for no collection.
    kind: Option<String>,
    /// The folder of the documents.
    out: PathBuf,
}

impl ActivityGateway {
    /// Returns a collection whose objects have this type, beside the documents in a folder. Without a type there is
    /// none, and the collection of an earlier run is removed when the Source is served: it would never be updated.
    pub(crate) fn new(kind: Option<String>, out: PathBuf) -> Self {
        Self { kind, out }
    }
}

impl Gateway for ActivityGateway {
    fn routes(&self, source: &Arc<SourceView>) -> io::Result<Router> {
        let Some(kind) = &self.kind else {
            // Removed here and not in `new`: until this server has the Source, another one may serve the collection.
            withdraw(&self.out).map_err(io::Error::other)?;
            return Ok(Router::new());
        };
        let served = ServedActivities {
            kind: kind.clone(),
            out: self.out.clone(),
            view: Arc::clone(source),
            written: Mutex::default(),
        };
        Ok(Router::new()
            .route(&format!("/{FOLDER}/{{name}}"), with_methods("GET, HEAD, OPTIONS", get(answer)))
            .with_state(Arc::new(served)))
    }
}

/// The collection behind the routes.
struct ServedActivities {
    kind: String,
    out: PathBuf,
    view: Arc<SourceView>,
    written: Mutex<WrittenState>,
}

/// The state of the collection that was last written.
#[derive(Debug, Default)]
struct WrittenState {
    /// The number of publications at that time.
    publications: u64,
    /// The collection is not written again before this time; `None` if it was not written yet.
    not_before: Option<Instant>,
}

async fn answer(State(served): State<Arc<ServedActivities>>, UriPath(name): UriPath<String>) -> Response {
    let read = spawn_blocking(move || served.read(&name));
    match read.await {
        Ok(Ok(Some(bytes))) => {
            let headers =
                [(header::CONTENT_TYPE, "application/ld+json"), (header::CACHE_CONTROL, "no-cache")];
            (headers, bytes).into_response()
        }
        Ok(Ok(None)) => StatusCode::NOT_FOUND.into_response(),
        Ok(Err(error)) => {
            tracing::error!("the collection of activities cannot be written: {error:#}");
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

impl ServedActivities {
    /// Returns a file of the collection as of the last publication, or as it was before while another request writes it;
    /// `None` if there is none of that name.
    ///
    /// Errors: a file cannot be read or written.
    fn read(&self, name: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let number = name.strip_prefix("page-").and_then(|rest| rest.strip_suffix(".json"));
        let is_page = number.is_some_and(|number| number.parse::<usize>().is_ok());
        if name != COLLECTION && !is_page {
            return Ok(None);
        }
        let place = self.out.join(FOLDER).join(name);
        let publications = self.view.overview().publications;
        let mut written = match self.written.try_lock() {
            Ok(written) => written,
            // Another request writes the collection. The former one is complete: only a first one is waited for, because each
            // request that waits holds a thread.
            Err(TryLockError::WouldBlock) if place.exists() => return read_file(&place),
            Err(_) => self.written.lock().unwrap_or_else(PoisonError::into_inner),
        };
        let may_write = written.not_before.is_none_or(|time| Instant::now() >= time);
        if written.publications != publications && may_write {
            let began = Instant::now();
            let result = write(&self.out, self.view.place().base(), self.view.sets(), &self.kind);
            // Also after a failure: on a full disk each request would read all lists again.
            written.not_before = Some(Instant::now() + pause_after(began.elapsed()));
            result?;
            written.publications = publications;
        }
        let held = read_file(&place)?;
        if held.is_none() && name == COLLECTION {
            bail!("the last attempt failed, and the next one is made later");
        }
        Ok(held)
    }
}

/// Returns the pause after the collection was written, in proportion to the time that this took.
fn pause_after(took: Duration) -> Duration {
    took * SHARE
}

fn read_file(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => Ok(Some(read?)),
    }
}
