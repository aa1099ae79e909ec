//! The application of a Source: documents, resources, and pages about them, as a router to mount anywhere.

use std::{borrow::Cow, io, path::PathBuf, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    middleware,
    response::Response,
    routing::any,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use tokio::sync::watch;

use super::{
    cors,
    documents::{self, DocumentFolder},
    files::Files,
    host::AcceptedHosts,
    methods::{self, READ_ONLY},
    observe::{self, Metrics, Observer},
    pages::{self, PagesOfSource},
    path::{self, Beneath},
    resources::ResourceFiles,
};
use crate::{Error, Overview, render::SourcePlace};

/// A Source over HTTP. Cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) struct App {
    shared: Arc<AppState>,
}

/// The parts of an [`App`].
pub(crate) struct AppParts {
    /// The URIs; never those of a request (S2).
    pub place: SourcePlace,
    /// The folder with `resourcesync/`, `.well-known/resourcesync` and `robots.txt`.
    pub documents: PathBuf,
    /// `true` if other servers show the same documents.
    pub is_shared: bool,
    /// The resources.
    pub resources: ResourceFiles,
    /// The state of the Source as pages, `/status` and `/metrics` show it.
    pub overview: watch::Receiver<Arc<Overview>>,
    /// Refuses requests for any host but that of the base URL.
    pub strict_host: bool,
    /// Lets pages of other origins read the documents.
    pub cors: bool,
    /// Further routes below the base URL: channels, hub, batch.
    pub routes: Router,
    /// Pages for people.
    pub pages: Option<PagesOfSource>,
}

#[derive(Debug)]
pub(crate) struct AppState {
    place: SourcePlace,
    documents: Files,
    resources: ResourceFiles,
    overview: watch::Receiver<Arc<Overview>>,
    cors: bool,
    routes: Router,
    pages: Option<PagesOfSource>,
    observer: Arc<Observer>,
}

impl App {
    /// Opens the folders of a site.
    pub(crate) fn new(site: AppParts) -> Result<Self, Error> {
        let AppParts { place, documents, is_shared, resources, overview, strict_host, cors, routes, pages } =
            site;
        let folder = DocumentFolder::open(&documents, is_shared);
        let documents = folder.map(Files::new).map_err(Error::read(documents))?;
        let hosts = AcceptedHosts::new(place.base(), strict_host);
        let observer = Arc::new(Observer { metrics: Metrics::new(), hosts });
        let shared = AppState { place, documents, resources, overview, cors, routes, pages, observer };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the routes, at the path of the base URL: to be served directly, or merged into a router with its own
    /// routes and fallback. At the root of a host they take every path that the other router has no route for.
    pub(crate) fn router(&self) -> Router {
        let answers = Router::new().route("/", any(answer)).route("/{*path}", any(answer));
        let answers = answers.with_state(Arc::clone(&self.shared));
        let prefix = self.shared.place.path().trim_end_matches('/');
        let mut routes = self.shared.routes.clone().merge(answers);
        if let Some(pages) = &self.shared.pages {
            routes = routes.layer(middleware::from_fn_with_state(pages.clone(), pages::answer_with_page));
        }
        if self.shared.cors {
            routes = routes.layer(middleware::from_fn(cors::allow_any_origin));
        }
        let routes = if prefix.is_empty() { routes } else { Router::new().nest_service(prefix, routes) };
        routes.layer(middleware::from_fn_with_state(Arc::clone(&self.shared.observer), observe::observe))
    }
}

impl AppState {
    fn answer(&self, method: &Method, uri: &http::Uri, headers: &HeaderMap) -> Response {
        if method != Method::GET && method != Method::HEAD {
            return methods::answer(method, READ_ONLY);
        }
        let path = uri.path().strip_prefix('/').unwrap_or(uri.path());
        let found = match self.file(method, (path, uri.query()), headers) {
            Ok(None) => self.generic_or_state(method, path, headers),
            found => found,
        };
        match found {
            Ok(found) => found.unwrap_or_else(|| empty(StatusCode::NOT_FOUND)),
            Err(error) => {
                tracing::error!(path, %error, "cannot be served");
                unavailable()
            }
        }
    }

    fn file(
        &self,
        method: &Method,
        (path, query): (&str, Option<&str>),
        headers: &HeaderMap,
    ) -> io::Result<Option<Response>> {
        if documents::owns(path)
            && let Some(name) = path::beneath(path)
            && let Some(document) = self.documents.answer(method, &name, headers)?
        {
            return Ok(Some(document));
        }
        for (prefix, files) in &self.resources.folders {
            let below = path.strip_prefix(prefix.as_str());
            let Some(name) = below.and_then(|below| files.named(below)) else { continue };
            if let Some(answer) = files.answer(method, &name, headers)? {
                return Ok(Some(answer));
            }
            if !name.is_folder && files.has_index(&name.name)? {
                return Ok(Some(moved(&format!("{}{path}/", self.place.path()))));
            }
            break;
        }
        let as_written = [Some(path), query].into_iter().flatten().collect::<Vec<_>>().join("?");
        let name = Beneath { name: Cow::Borrowed(as_written.as_bytes()), is_folder: false };
        self.resources.named.answer(method, &name, headers)
    }

    /// Answers with one of the resources that a generic URI represents (RFC 9110 §12.4.1), otherwise with the state of the
    /// Source.
    fn generic_or_state(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> io::Result<Option<Response>> {
        let mut refused = Vec::new();
        for candidate in self.resources.generics.candidates(path, headers) {
            let asked = if candidate.acceptable { method } else { &Method::HEAD };
            let Some(mut response) = self.file(asked, (&candidate.path, None), headers)? else { continue };
            let uri = self.place.uri(&candidate.path);
            if candidate.acceptable {
                let location = HeaderValue::from_str(uri.as_str()).ok();
                let headers = response.headers_mut();
                headers.extend(location.map(|location| (header::CONTENT_LOCATION, location)));
                headers.insert(header::VARY, HeaderValue::from_static("accept"));
                return Ok(Some(response));
            }
            refused.push(uri.into_string());
        }
        if refused.is_empty() {
            return Ok(self.state(method, path, headers));
        }
        let mut response = empty(StatusCode::NOT_ACCEPTABLE);
        let headers = response.headers_mut();
        headers.insert(header::VARY, HeaderValue::from_static("accept"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        let links: Vec<_> = refused.iter().map(|uri| format!("<{uri}>; rel=\"alternate\"")).collect();
        headers.extend(HeaderValue::from_str(&links.join(", ")).ok().map(|links| (header::LINK, links)));
        *response.body_mut() = Body::from(refused.join("\n") + "\n");
        Ok(Some(response))
    }

    /// Answers a request for the state of the Source, for programs. A resource of the same name comes first.
    fn state(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<Response> {
        let overview = Arc::clone(&self.overview.borrow());
        let (content_type, text) = match path {
            "healthz" => ("text/plain; charset=utf-8", "alive\n".to_owned()),
            "readyz" => ("text/plain; charset=utf-8", overview.readiness()),
            // A browser gets a page, which is added later if this returns nothing.
            "status" if self.pages.is_some() && pages::accepts_html(headers) => return None,
            "status" => ("application/json", overview.to_json()),
            "metrics" => ("text/plain; version=0.0.4", self.observer.metrics.exposition(&overview)),
            _ => return None,
        };
        let mut response = Response::new(Body::empty());
        if path == "readyz" && !overview.is_ready() {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::CONTENT_LENGTH, text.len().into());
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::VARY, HeaderValue::from_static("accept"));
        if method == Method::GET {
            *response.body_mut() = Body::from(text);
        }
        Some(response)
    }
}

async fn answer(State(shared): State<Arc<AppState>>, request: Request) -> Response {
    shared.answer(request.method(), request.uri(), request.headers())
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Answers 503: the resource cannot be read now, but a later request may succeed.
fn unavailable() -> Response {
    let mut response = empty(StatusCode::SERVICE_UNAVAILABLE);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

fn moved(location: &str) -> Response {
    let mut response = empty(StatusCode::MOVED_PERMANENTLY);
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::{
        GenericRule, SetOptions,
        serve::{files::FileProvider, generic::Generics, representation::Description},
    };

    /// A disk that fails at one file, and has no other.
    struct FaultyDisk;

    impl FileProvider for FaultyDisk {
        fn open(&self, name: &[u8]) -> io::Result<File> {
            Err(if name == b"res.pdf" { io::ErrorKind::Other } else { io::ErrorKind::NotFound }.into())
        }

        fn describe(&self, _: &[u8], _: &File) -> io::Result<Option<Description>> {
            Ok(None)
        }

        fn cache_control(&self, _: &[u8]) -> HeaderValue {
            HeaderValue::from_static("no-cache")
        }

        fn is_for_documents(&self) -> bool {
            false
        }
    }

    #[test]
    fn o437_a_generic_uri_is_not_called_gone_while_its_resource_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut set = SetOptions::new();
        set.generics = vec![GenericRule::new("res", ["res.pdf".to_owned()])];
        let resources = ResourceFiles {
            folders: vec![(String::new(), Files::new(FaultyDisk))],
            named: Files::new(FaultyDisk),
            generics: Generics::new(&[set]).unwrap(),
        };
        let app = App::new(AppParts {
            place: SourcePlace::new("http://x/").unwrap(),
            documents: folder.path().to_owned(),
            is_shared: false,
            resources,
            overview: watch::channel(Arc::default()).1,
            strict_host: false,
            cors: false,
            routes: Router::new(),
            pages: None,
        });
        let app = app.unwrap();
        for (path, status) in [("/res", StatusCode::SERVICE_UNAVAILABLE), ("/other", StatusCode::NOT_FOUND)] {
            let answer = app.shared.answer(&Method::GET, &path.parse().unwrap(), &HeaderMap::new());
            assert_eq!(answer.status(), status, "{path}");
        }
    }
}
