//! Prior versions over HTTP: TimeGate, TimeMap and Mementos (RFC 7089).

mod link_format;

use std::{
    fs::File,
    io,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::Response,
    routing::get,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use resourcesync::{DateTime, Uri};

use super::{
    files::{FileProvider, Files},
    methods::{READ_ONLY, with_methods},
    path::Beneath,
    representation::{self, Description},
};
use crate::{
    catalogue::{Catalogue, Resource, ResourceState, ResourceVersion},
    content::{Holdings, StateSpool},
    publish::{SourceContext, VersionPlace},
    render::{DOCUMENTS, MEMENTO, TIMEGATE, TIMEMAP},
};
use link_format::{VersionLinks, http_date};

const ACCEPT_DATETIME: HeaderName = HeaderName::from_static("accept-datetime");
const MEMENTO_DATETIME: HeaderName = HeaderName::from_static("memento-datetime");

/// Returns the routes of versions; an empty router if the Source keeps none.
pub(crate) fn routes(source: &SourceContext) -> Router {
    let spool = StateSpool::of(source.options()).filter(|_| source.options().versions.is_some());
    let Some(spool) = spool else { return Router::new() };
    let kept = VersionFiles {
        catalogue: source.catalogue().clone(),
        holdings: source.holdings().clone(),
        place: VersionPlace::new(source.place().base()),
        spool,
    };
    let versions = Arc::new(Versions { files: Files::new(kept.clone()), kept });
    Router::new()
        .route(&format!("/{DOCUMENTS}/{TIMEGATE}/{{*path}}"), with_methods(READ_ONLY, get(timegate)))
        .route(&format!("/{DOCUMENTS}/{TIMEMAP}/{{*path}}"), with_methods(READ_ONLY, get(timemap)))
        .route(&format!("/{DOCUMENTS}/{MEMENTO}/{{*path}}"), with_methods(READ_ONLY, get(memento)))
        .with_state(versions)
}

struct Versions {
    kept: VersionFiles,
    files: Files,
}

/// The versions whose bytes are kept.
#[derive(Clone, Debug)]
struct VersionFiles {
    catalogue: Catalogue,
    holdings: Holdings,
    place: VersionPlace,
    spool: StateSpool,
}

impl VersionFiles {
    /// Returns the available versions of a resource, oldest first.
    ///
    /// # Errors
    /// If the catalogue or one of the kept states cannot be read: without that version, another one would be named for its
    /// time.
    fn versions(&self, original: &Uri) -> io::Result<Vec<ResourceVersion>> {
        let snapshot = self.catalogue.snapshot().map_err(io::Error::other)?;
        let mut available = Vec::new();
        for version in snapshot.versions(original).map_err(io::Error::other)? {
            let Some(state) = &version.state else { continue };
            if self.spool.find_whole(&state.digests, state.length)?.is_some() {
                available.push(version);
            }
        }
        Ok(available)
    }

    /// Returns the version with this name: its microseconds, a slash, and the path of the resource.
    fn named(&self, name: &[u8]) -> io::Result<Option<(Uri, ResourceVersion)>> {
        let name = std::str::from_utf8(name).ok().and_then(|name| name.split_once('/'));
        let Some((micros, path)) = name else { return Ok(None) };
        let (Ok(micros), Some(original)) = (micros.parse(), self.place.original(path)) else {
            return Ok(None);
        };
        let datetime = DateTime::from_unix_micros(micros);
        let found = self.versions(&original)?.into_iter().find(|version| version.datetime == datetime);
        Ok(found.map(|version| (original, version)))
    }

    /// Adds the content coding in which the bytes are stored to a state, as the entry of its resource has it (O909): by the
    /// rules of the sets that the resource is in, or of all sets if it is gone.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    fn coded(&self, original: Uri, state: ResourceState) -> io::Result<ResourceState> {
        let mut sets = 0;
        for key in self.holdings.keys_of(original.as_str()) {
            let held = self.catalogue.resource(&key).map_err(io::Error::other)?;
            sets |= held.map_or(0, |held| held.sets);
        }
        let mut resource = Resource::new(Vec::new(), original);
        (resource.state, resource.sets) = (state, if sets == 0 { u64::MAX } else { sets });
        self.holdings.describe_coding(&mut resource);
        Ok(resource.state)
    }
}

impl FileProvider for VersionFiles {
    fn open(&self, name: &[u8]) -> io::Result<File> {
        let found = self.named(name)?.and_then(|(_, version)| version.state);
        let find = |state: ResourceState| self.spool.find_whole(&state.digests, state.length);
        let file = found.map(find).transpose()?.flatten();
        file.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn describe(&self, name: &[u8], file: &File) -> io::Result<Option<Description>> {
        let Some((original, version)) = self.named(name)? else { return Ok(None) };
        let hashed = Some(representation::stamp(&file.metadata()?));
        let link = VersionLinks::new(&self.place, &original).header(&self.versions(&original)?);
        let published = version.state.map(|state| self.coded(original, state)).transpose()?;
        Ok(Some(Description { link, hashed, published, ..Description::default() }))
    }

    fn cache_control(&self, _: &[u8]) -> HeaderValue {
        HeaderValue::from_static("public, max-age=86400")
    }

    fn is_for_documents(&self) -> bool {
        false
    }
}

async fn timegate(State(versions): State<Arc<Versions>>, request: Request) -> Response {
    answered(versions.timegate(rest(&request, TIMEGATE), request.headers()))
}

async fn timemap(State(versions): State<Arc<Versions>>, request: Request) -> Response {
    answered(versions.timemap(rest(&request, TIMEMAP), request.method()))
}

async fn memento(State(versions): State<Arc<Versions>>, request: Request) -> Response {
    answered(versions.memento(rest(&request, MEMENTO), &request))
}

/// Returns the part of the URI after the kind, as it is written, with its query.
fn rest<'a>(request: &'a Request, kind: &str) -> &'a str {
    let whole = request.uri().path_and_query().map_or("", |path| path.as_str());
    whole.split_once(&format!("/{DOCUMENTS}/{kind}/")).map_or("", |(_, rest)| rest)
}

impl Versions {
    /// Redirects to the version at the requested time: the one before it, or the first (RFC 7089 §4.1).
    fn timegate(&self, path: &str, headers: &HeaderMap) -> io::Result<Response> {
        let asked = headers.get(ACCEPT_DATETIME).map(|value| {
            let date = value.to_str().ok().and_then(asked_date);
            date.map(|date| date.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
        });
        if asked == Some(None) {
            return Ok(plain_answer(StatusCode::BAD_REQUEST, "Accept-Datetime is not an HTTP date"));
        }
        let Some(original) = self.kept.place.original(path) else { return Ok(not_kept()) };
        let versions = self.kept.versions(&original)?;
        let until = asked.flatten().map_or(i64::MAX, |seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
        let is_in_time =
            |version: &&ResourceVersion| version.datetime.unix_micros().div_euclid(1_000_000) <= until;
        let Some(version) = versions.iter().rev().find(is_in_time).or(versions.first()) else {
            return Ok(not_kept());
        };
        let mut response = plain_answer(StatusCode::FOUND, "");
        let location = self.kept.place.memento(&original, version.datetime);
        let location = location.and_then(|uri| HeaderValue::from_str(uri.as_str()).ok());
        let headers = response.headers_mut();
        headers.extend(location.map(|location| (header::LOCATION, location)));
        headers.extend(
            VersionLinks::new(&self.kept.place, &original).header(&versions).map(|link| (header::LINK, link)),
        );
        headers.insert(header::VARY, HeaderValue::from_static("accept-datetime"));
        Ok(response)
    }

    /// Answers with the list of all versions (RFC 7089 §5, RFC 6690).
    fn timemap(&self, path: &str, method: &Method) -> io::Result<Response> {
        let Some(original) = self.kept.place.original(path) else { return Ok(not_kept()) };
        let versions = self.kept.versions(&original)?;
        if versions.is_empty() {
            return Ok(not_kept());
        }
        let text = VersionLinks::new(&self.kept.place, &original).timemap(&versions);
        let mut response = plain_answer(StatusCode::OK, "");
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/link-format"));
        headers.insert(header::CONTENT_LENGTH, text.len().into());
        if method == Method::GET {
            *response.body_mut() = Body::from(text);
        }
        Ok(response)
    }

    /// Answers with a version (RFC 7089 §4.2).
    fn memento(&self, name: &str, request: &Request) -> io::Result<Response> {
        let beneath = Beneath { name: name.as_bytes().into(), is_folder: false };
        let answer = self.files.answer(request.method(), &beneath, request.headers())?;
        let Some(mut response) = answer else { return Ok(not_kept()) };
        let micros = name.split('/').next().and_then(|micros| micros.parse().ok());
        let date = micros.map(|micros| http_date(DateTime::from_unix_micros(micros)));
        let date = date.and_then(|date| HeaderValue::from_str(&date).ok());
        response.headers_mut().extend(date.map(|date| (MEMENTO_DATETIME, date)));
        Ok(response)
    }
}

/// Reads an HTTP date whose day of the week may be wrong: clients write it by hand.
fn asked_date(text: &str) -> Option<SystemTime> {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let under = |day: &&str, date: &str| httpdate::parse_http_date(&format!("{day}, {date}")).ok();
    httpdate::parse_http_date(text).ok().or_else(|| {
        let (_, date) = text.split_once(", ")?;
        DAYS.iter().find_map(|day| under(day, date))
    })
}

fn answered(answer: io::Result<Response>) -> Response {
    answer.unwrap_or_else(|error| {
        tracing::error!(%error, "a version cannot be served");
        let mut response = plain_answer(StatusCode::SERVICE_UNAVAILABLE, "");
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        response
    })
}

fn not_kept() -> Response {
    plain_answer(StatusCode::NOT_FOUND, "No version of this resource is kept")
}

fn plain_answer(status: StatusCode, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if !text.is_empty() {
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, plain);
    }
    response
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use resourcesync::Digests;

    use super::*;
    use crate::{PublishOptions, catalogue::Keep};

    #[test]
    fn o539_a_version_that_cannot_be_read_now_is_not_called_gone() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::open(&folder.path().join(".catalogue")).unwrap();
        let spool = StateSpool::new(folder.path().join("states"), 1 << 20);
        fs::create_dir(spool.folder()).unwrap();
        let original = Uri::parse("http://x/a").unwrap();
        let mut state = ResourceState::new();
        state.digests = Digests::parse("md5:1584abdf8ebdc9802ac0c6a7402c03b6", |_| ());
        let version = ResourceVersion::new(DateTime::from_unix_seconds(1), Some(state));
        let keep = Keep { count: 1, since: DateTime::from_unix_seconds(0) };
        catalogue.keep_versions(vec![(original.clone(), version)], keep, ("x".to_owned(), None)).unwrap();
        let holdings = Holdings::new(&PublishOptions::new(folder.path(), "http://x/"), &catalogue).unwrap();
        let kept = VersionFiles { catalogue, holdings, place: VersionPlace::new("http://x/"), spool };
        assert!(kept.versions(&original).unwrap().is_empty());
        // As on a faulty disk: no path is a link to itself.
        let file = kept.spool.folder().join("md5-1584abdf8ebdc9802ac0c6a7402c03b6");
        symlink(&file, &file).unwrap();
        assert!(kept.versions(&original).is_err());
    }
}
