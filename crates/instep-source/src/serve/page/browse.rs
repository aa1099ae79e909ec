//! The pages below the documents: a set, a document, a resource, a search by URI, charts.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Query, State},
    response::{IntoResponse, Response},
    routing::get,
};
use http::StatusCode;
use instep_store::RootFolder;
use maud::{Markup, html};
use serde::Deserialize;
use tokio::task::spawn_blocking;

use super::{
    charts::Charts, figures, layout, moment, path, resource_link, respond, search_form, size, thousands,
};
use crate::{
    Error, Publisher,
    catalogue::{Catalogue, Resource, Snapshot},
    content::Holdings,
    render::Place,
};

/// Lines of a page.
pub(super) const MOST: usize = 200;

/// The catalogue and the documents that the pages show.
pub(crate) struct Browse {
    pub(super) catalogue: Catalogue,
    holdings: Holdings,
    pub(super) place: Place,
    pub(super) documents: RootFolder,
    /// The names of the sets, by their number.
    pub(super) sets: Vec<String>,
    charts: Charts,
}

/// The query of a page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    q: String,
    uri: String,
    pub(super) name: String,
}

/// A page with its title; `None` if there is nothing to show.
pub(super) type PageResult = Result<Option<(String, Markup)>, Error>;

/// The pages, below the base URL.
pub(crate) fn routes(publisher: &Publisher) -> Result<Router, Error> {
    let out = &publisher.options().out;
    std::fs::create_dir_all(out).map_err(Error::write(out))?;
    let browse = Browse {
        catalogue: publisher.catalogue().clone(),
        holdings: publisher.holdings().clone(),
        place: publisher.place().clone(),
        documents: RootFolder::open(out).map_err(Error::read(out))?,
        sets: publisher.options().sets.iter().map(|set| set.name.clone()).collect(),
        charts: Charts::default(),
    };
    let page = |page: fn(&Browse, &Wanted) -> PageResult| {
        get(move |State(browse): State<Arc<Browse>>, Query(wanted): Query<Wanted>| async move {
            spawn_blocking(move || answer(browse.place.base(), page(&browse, &wanted)))
                .await
                .unwrap_or_else(|_| failed())
        })
    };
    Ok(Router::new()
        .route("/resourcesync/search", page(Browse::search))
        .route("/resourcesync/resource", page(Browse::resource))
        .route("/resourcesync/document", page(Browse::document))
        .route("/resourcesync/set", page(Browse::set))
        .route("/resourcesync/charts", page(Browse::charts))
        .with_state(Arc::new(browse)))
}

fn answer(base: &str, page: PageResult) -> Response {
    match page {
        Ok(Some((title, content))) => respond(layout(base, &[], &title, &content)),
        Ok(None) => StatusCode::NOT_FOUND.into_response(),
        Err(error) => {
            tracing::error!(%error, "a page cannot be made");
            failed()
        }
    }
}

fn failed() -> Response {
    StatusCode::SERVICE_UNAVAILABLE.into_response()
}

impl Browse {
    /// Resources whose path or URI begins with a text.
    fn search(&self, wanted: &Wanted) -> PageResult {
        let base = self.place.base();
        let snapshot = self.catalogue.snapshot()?;
        let found = self.beginning_with(&snapshot, &wanted.q)?;
        let content = html! {
            (search_form(&path(base, "resourcesync/search"), &wanted.q))
            h2 { @if wanted.q.is_empty() { "All resources" } @else { "Resources that begin with " q { (wanted.q) } } }
            table {
                thead { tr { th { "Resource" } th.figure { "Size" } th { "Last modified" } } }
                tbody {
                    @for resource in &found {
                        tr {
                            td { (resource_link(base, resource.uri.as_str(), false)) }
                            td.figure { @if let Some(length) = resource.state.length { (size(length)) } }
                            td { @if let Some(lastmod) = resource.state.lastmod { (moment(lastmod)) } }
                        }
                    }
                    @if found.is_empty() { tr { td { "None." } } }
                }
            }
            @if found.len() == MOST { p.soft { "The first " (MOST) "; write more of the URI to see others." } }
        };
        Ok(Some(("Search".to_owned(), content)))
    }

    fn beginning_with(&self, snapshot: &Snapshot, text: &str) -> Result<Vec<Resource>, Error> {
        let whole = |text: &str| format!("{}{}", self.place.base(), text.trim_start_matches('/'));
        let uri = if text.contains("://") { text.to_owned() } else { whole(text) };
        // The base itself is the key of no file: everything follows it.
        let start = match uri.strip_prefix(self.place.base()) {
            Some("") => Vec::new(),
            _ => self.holdings.key_of(&uri),
        };
        let first = snapshot.resource(&start)?.into_iter().map(Ok);
        let matches = |resource: &Result<Resource, _>| {
            resource.as_ref().map_or(true, |resource: &Resource| resource.key.starts_with(&start))
        };
        let found = first.chain(snapshot.resources_after(u64::MAX, &start).take_while(matches)).take(MOST);
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// Shows what is published about a resource.
    fn resource(&self, wanted: &Wanted) -> PageResult {
        let snapshot = self.catalogue.snapshot()?;
        let Some(resource) = self.holdings.find(&snapshot, &wanted.uri)? else { return Ok(None) };
        let (state, history) = (&resource.state, &resource.history);
        let names = self.sets.iter().enumerate().filter(|(number, _)| resource.sets >> number & 1 == 1);
        let title = wanted.uri.strip_prefix(self.place.base()).unwrap_or(&wanted.uri).to_owned();
        let content = html! {
            (figures(&[
                ("Size", "size", state.length.map_or_else(|| "unknown".to_owned(), size)),
                ("Changes", "changes", thousands(history.changes)),
            ]))
            table {
                tr { th { "URI" } td { a href=(resource.uri) { (resource.uri) } } }
                @if let Some(length) = state.length { tr { th { "Length" } td { (thousands(length)) " bytes" } } }
                @if let Some(media_type) = &state.media_type { tr { th { "Type" } td { (media_type) } } }
                @if let Some(coding) = &state.encoding { tr { th { "Encoding" } td { (coding) } } }
                @if let Some(lastmod) = state.lastmod { tr { th { "Last modified" } td { (moment(lastmod)) } } }
                @if let Some(since) = history.since { tr { th { "Known since" } td { (moment(since)) } } }
                @for digest in state.digests.iter() { tr { th { "Digest" } td { code { (digest) } } } }
                @for related in &state.links { tr { th { (related.rel) } td { a href=(related.href) { (related.href) } } } }
                @for (_, name) in names {
                    tr {
                        th { "Set" }
                        td {
                            a href=(path(self.place.base(), &format!("resourcesync/set?name={name}"))) {
                                @if name.is_empty() { "All resources" } @else { (name) }
                            }
                        }
                    }
                }
            }
        };
        Ok(Some((title, content)))
    }

    /// When resources changed, and how large they are.
    fn charts(&self, _: &Wanted) -> PageResult {
        Ok(Some(("Charts".to_owned(), self.charts.of(&self.catalogue)?)))
    }
}
