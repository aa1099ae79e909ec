//! Pages about a set, a document, a resource, and a search by URI.

use std::{
    io::{self, BufReader},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{Query, State},
    response::{IntoResponse, Response},
    routing::get,
};
use http::StatusCode;
use maud::{Markup, html};
use resourcesync::{DocumentReader, Entry, Header, ReadOptions};
use serde::Deserialize;
use tokio::task::spawn_blocking;

use super::{chart, layout, respond, size};
use crate::{
    Error, Publisher,
    catalogue::{Catalogue, Resource, Snapshot},
    content::Holdings,
    render::Place,
    serve::{path, root::Root},
};

/// Lines of a page.
const MOST: usize = 200;
/// Changes that charts look at.
const CHART_CHANGES: u64 = 50_000;
/// How long charts are shown before they are drawn again.
const CHART_AGE: Duration = Duration::from_secs(60);

/// What the pages look into.
pub(crate) struct Browse {
    catalogue: Catalogue,
    holdings: Holdings,
    place: Place,
    documents: Root,
    charts: Mutex<Option<(Instant, Arc<String>)>>,
}

/// What is looked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wanted {
    q: String,
    uri: String,
    name: String,
}

/// The pages, below the base URL.
pub(crate) fn routes(publisher: &Publisher) -> Result<Router, Error> {
    let out = &publisher.options().out;
    std::fs::create_dir_all(out).map_err(Error::write(out))?;
    let browse = Browse {
        catalogue: publisher.catalogue().clone(),
        holdings: publisher.holdings().clone(),
        place: publisher.place().clone(),
        documents: Root::open(out).map_err(Error::read(out))?,
        charts: Mutex::default(),
    };
    type Page = fn(&Browse, &Wanted) -> Result<Option<Markup>, Error>;
    let page = |page: Page| {
        get(move |State(browse): State<Arc<Browse>>, Query(wanted): Query<Wanted>| async move {
            spawn_blocking(move || answer(page(&browse, &wanted))).await.unwrap_or_else(|_| failed())
        })
    };
    Ok(Router::new()
        .route("/resourcesync/search", page(Browse::search))
        .route("/resourcesync/resource", page(Browse::resource))
        .route("/resourcesync/document", page(Browse::document))
        .route("/resourcesync/charts", page(Browse::charts))
        .with_state(Arc::new(browse)))
}

fn answer(page: Result<Option<Markup>, Error>) -> Response {
    match page {
        Ok(Some(content)) => respond(layout("ResourceSync", &content)),
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
    fn search(&self, wanted: &Wanted) -> Result<Option<Markup>, Error> {
        let snapshot = self.catalogue.snapshot()?;
        let found = self.beginning_with(&snapshot, &wanted.q)?;
        Ok(Some(html! {
            (search_form(&wanted.q))
            h2 { "Resources that begin with " q { (wanted.q) } }
            table {
                tr { th { "Resource" } th { "Size" } th { "Last modified" } }
                @for resource in &found {
                    tr {
                        td { (link("resource", "uri", resource.uri.as_str(), self.short(resource.uri.as_str()))) }
                        td.figure { @if let Some(length) = resource.state.length { (size(length)) } }
                        td { @if let Some(lastmod) = resource.state.lastmod { time { (lastmod) } } }
                    }
                }
                @if found.is_empty() { tr { td { "None." } } }
            }
            @if found.len() == MOST { p { "The first " (MOST) "; write more of the URI to see others." } }
        }))
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

    /// What is published about a resource.
    fn resource(&self, wanted: &Wanted) -> Result<Option<Markup>, Error> {
        let snapshot = self.catalogue.snapshot()?;
        let Some(resource) = self.holdings.find(&snapshot, &wanted.uri)? else { return Ok(None) };
        let state = &resource.state;
        Ok(Some(html! {
            h2 { a href=(resource.uri) { (self.short(resource.uri.as_str())) } }
            table {
                tr { th { "URI" } td { (resource.uri) } }
                @if let Some(length) = state.length { tr { th { "Size" } td { (size(length)) " (" (length) " bytes)" } } }
                @if let Some(lastmod) = state.lastmod { tr { th { "Last modified" } td { time { (lastmod) } } } }
                @if let Some(media_type) = &state.media_type { tr { th { "Type" } td { (media_type) } } }
                @for digest in state.digests.iter() { tr { th { "Digest" } td { code { (digest) } } } }
                @for related in &state.links { tr { th { (related.rel) } td { a href=(related.href) { (related.href) } } } }
            }
        }))
    }

    /// A document, as its readers understand it.
    fn document(&self, wanted: &Wanted) -> Result<Option<Markup>, Error> {
        let Some(name) = path::beneath(&wanted.name).filter(|name| name.name.ends_with(b".xml")) else {
            return Ok(None);
        };
        let file = match self.documents.file(&name.name) {
            Ok(file) => BufReader::new(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::read(&wanted.name)(error)),
        };
        let read = || {
            let mut reader = DocumentReader::new(file, ReadOptions::new())?;
            let header = reader.header().clone();
            let entries = reader.entries().take(MOST).collect::<Result<Vec<_>, _>>()?;
            Ok((header, entries))
        };
        let (header, entries) = read()
            .map_err(|error: resourcesync::ReadError| Error::read(&wanted.name)(io::Error::other(error)))?;
        Ok(Some(self.show(&wanted.name, &header, &entries)))
    }

    fn show(&self, name: &str, header: &Header, entries: &[Entry]) -> Markup {
        html! {
            h2 { a href=(self.place.uri(name)) { (name) } }
            table {
                @if let Some(capability) = header.capability() { tr { th { "Capability" } td { (capability) } } }
                @if let Some(metadata) = &header.metadata {
                    @for (what, moment) in [
                        ("At", metadata.at), ("Completed", metadata.completed), ("From", metadata.from), ("Until", metadata.until),
                    ] {
                        @if let Some(moment) = moment { tr { th { (what) } td { time { (moment) } } } }
                    }
                }
                @for related in &header.links { tr { th { (related.rel) } td { a href=(related.href) { (related.href) } } } }
            }
            h2 { "Entries" }
            table {
                @for entry in entries {
                    tr {
                        td { @if let Some(moment) = entry.metadata.datetime.or(entry.lastmod) { time { (moment) } } }
                        td { @if let Some(change) = &entry.metadata.change { span class=(change) { (change) } } }
                        td { a href=(entry.loc) { (self.short(entry.loc.as_str())) } }
                    }
                }
            }
            @if entries.len() == MOST { p { "The first " (MOST) " only." } }
        }
    }

    /// When resources changed, and how large they are.
    fn charts(&self, _: &Wanted) -> Result<Option<Markup>, Error> {
        let mut kept = self.charts.lock().unwrap_or_else(PoisonError::into_inner);
        let current =
            kept.as_ref().filter(|(drawn, _)| drawn.elapsed() < CHART_AGE).map(|(_, text)| Arc::clone(text));
        let text = match current {
            Some(text) => text,
            None => {
                let text = Arc::new(draw(&self.catalogue.snapshot()?)?.into_string());
                *kept = Some((Instant::now(), Arc::clone(&text)));
                text
            }
        };
        Ok(Some(maud::PreEscaped(text.as_str().to_owned())))
    }

    fn short<'a>(&self, uri: &'a str) -> &'a str {
        uri.strip_prefix(self.place.base()).unwrap_or(uri)
    }
}

/// The form that leads to a search.
pub(super) fn search_form(text: &str) -> Markup {
    html! {
        form action="search" {
            input type="search" name="q" value=(text) placeholder="Beginning of a path or URI" aria-label="Search";
            " " button { "Search" }
        }
    }
}

fn link(page: &str, parameter: &str, value: &str, text: &str) -> Markup {
    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair(parameter, value).finish();
    html! { a href=(format!("{page}?{query}")) { (text) } }
}

fn draw(snapshot: &Snapshot) -> Result<Markup, Error> {
    const HOURS: i64 = 48;
    let hour = |micros: i64| micros.div_euclid(3_600_000_000);
    let now = hour(snapshot.at().unix_micros());
    let mut changes: Vec<(String, u64)> =
        (0..HOURS).map(|back| (format!("{} h ago", HOURS - 1 - back), 0)).collect();
    for change in snapshot.changes(u64::MAX, snapshot.head().sequence.saturating_sub(CHART_CHANGES)) {
        let back = now - hour(change?.datetime.unix_micros());
        if let Some((_, count)) =
            usize::try_from(HOURS - 1 - back).ok().and_then(|place| changes.get_mut(place))
        {
            *count += 1;
        }
    }
    let mut sizes: Vec<(String, u64)> =
        (0..40).map(|power| (format!("up to {}", size(1 << power)), 0)).collect();
    for resource in snapshot.resources(u64::MAX) {
        let length = resource?.state.length.unwrap_or_default();
        let power = length.max(1).next_power_of_two().ilog2() as usize;
        sizes[power.min(39)].1 += 1;
    }
    let used = sizes.iter().rposition(|(_, count)| *count > 0).map_or(1, |last| last + 1);
    sizes.truncate(used);
    Ok(html! { (chart::bars("Changes per hour", &changes)) (chart::bars("Resources by size", &sizes)) })
}
