//! The pages of a running Source. Here a request is led to its page; each page is a file below.

mod browse;
mod capabilities;
mod connected;
mod difference;
mod document;
mod history;
mod missing;
mod overview;
mod preview;
mod resource;
mod search;
mod set;
mod site;
mod state;
mod summary;

use http::{HeaderValue, Response, StatusCode, header};
use instep_source::serve::{PageRequest, Pages, SourceView};

use self::{
    capabilities::DocumentSizes, missing::Missing, search::SearchLimit, site::PageContext, summary::Summaries,
};
use super::design;

/// The pages of a Source, with the data that they keep from one request to the next.
#[derive(Debug, Default)]
pub(crate) struct SourcePages {
    summaries: Summaries,
    sizes: DocumentSizes,
    searches: SearchLimit,
}

impl Pages for SourcePages {
    fn answer(&self, source: &SourceView, request: &PageRequest) -> Option<Response<Vec<u8>>> {
        let site = PageContext::new(source, &request.query);
        let path = request.path.as_str();
        if let Some(name) = path.strip_prefix(site::FOLDER)
            && let Some(file) = design::file(name)
        {
            return Some(file);
        }
        if let Some(document) = document::named_as_page(path) {
            return Some(moved(&site.document_path(&document)));
        }
        // A person may type the address without its last slash.
        if request.accepts_html && format!("{path}/") == site::FOLDER {
            return Some(moved(&site.path(site::FOLDER)));
        }
        let found = match path {
            "" | site::FOLDER => overview::overview(&site, &self.summaries, &self.sizes).map(Some),
            "resourcesync/browse" => browse::browse(&site, &site.parameter("path")),
            "resourcesync/search" => search::search(&site, &self.summaries, &self.searches).map(Some),
            "resourcesync/resource" => resource::resource(&site),
            "resourcesync/set" => set::set(&site, &self.sizes),
            "resourcesync/document" => document::document(&site),
            "resourcesync/connected" => Ok(Some(connected::connected(&site))),
            _ if !request.accepts_html => return None,
            "status" => Ok(Some(state::state(&site))),
            _ => self.instead(&site, request),
        };
        let missing = || Missing { site: &site, path }.page();
        let body = match found {
            Ok(Some(body)) => body,
            Ok(None) if request.accepts_html => missing(),
            Ok(None) => return None,
            Err(error) => {
                tracing::error!(path, error = format!("{error:#}"), "a page cannot be made");
                return Some(unavailable());
            }
        };
        Some(design::page(&site.frame(), &body, &site.parameter("q")))
    }
}

impl SourcePages {
    /// Returns the page for a browser that requests an address for programs.
    fn instead(&self, site: &PageContext<'_>, request: &PageRequest) -> site::Found {
        match request.status {
            StatusCode::METHOD_NOT_ALLOWED if request.path.ends_with("/batch") => {
                Ok(set::batch(site, &request.path))
            }
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NO_CONTENT => Ok(Some(connected::connected(site))),
            _ if request.path.ends_with('/') => browse::browse(site, &request.path),
            _ => Ok(None),
        }
    }
}

fn moved(location: &str) -> Response<Vec<u8>> {
    let mut response = Response::new(Vec::new());
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

fn unavailable() -> Response<Vec<u8>> {
    let mut response = Response::new(b"This page cannot be made now; the log says why.\n".to_vec());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    response
}
