//! The pages of one Source of a fleet. The first page has the pages of the copy in the middle, and around them the
//! state of the Source in the fleet.

use std::sync::{Arc, PoisonError};

use anyhow::Result;
use axum::{
    extract::{Path as UriPath, Query, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode};
use instep_destination::CopyLocation;
use instep_fleet::{FleetSource, SourceName};
use maud::{Markup, html};
use serde::Deserialize;
use tokio::runtime::Handle;

use super::{
    access::SignedIn,
    detail::{ShownSource, standing, trend},
    overview::OVERVIEW,
    served::{ServedFleet, seconds},
    surveyed,
};
use crate::pages::{
    chart::ChartRange,
    copy,
    design::{PageBody, outside_link, warning},
};

/// The path from the page of a Source to the first page.
const UP: &str = "../../";

/// The query of a page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SourcePageQuery {
    after: String,
    range: String,
}

/// Answers with a page of a Source, which is made on a blocking thread.
async fn make(
    served: Arc<ServedFleet>,
    name: SourceName,
    headers: &HeaderMap,
    make: impl FnOnce(&ServedFleet, &FleetSource, Option<&SignedIn>) -> Result<PageBody> + Send + 'static,
) -> Response {
    let operator = served.access.signed_in(headers);
    let Some(source) = served.fleet.source(&name) else { return served.nothing() };
    let turns = served.turns.clone();
    let page = turns.make(move || match make(&served, &source, operator.as_ref()) {
        Ok(body) => served.page(&PageBody { belongs_to: OVERVIEW, ..body }, UP, operator.as_ref()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error:#}\n")).into_response(),
    });
    page.await.unwrap_or_else(|| StatusCode::SERVICE_UNAVAILABLE.into_response())
}

/// Returns a page about the copy of a Source, or one that says that there is none yet.
///
/// Errors: the record or the copy cannot be read.
fn of_copy(
    served: &ServedFleet,
    source: &FleetSource,
    make: impl FnOnce(&CopyLocation) -> Result<PageBody>,
) -> Result<PageBody> {
    match make(&served.fleet.copy(source)) {
        Err(error) if !has_looks(served, source)? || is_no_copy(&error) => {
            Ok(PageBody::new(source.definition.name.as_str(), OVERVIEW, no_copy(source)))
        }
        page => page,
    }
}

fn has_looks(served: &ServedFleet, source: &FleetSource) -> Result<bool> {
    Ok(!Handle::current().block_on(served.fleet.looks(&source.definition.name))?.is_empty())
}

fn no_copy(source: &FleetSource) -> Markup {
    html! { p.lead { "There is no copy of " (outside_link(&source.definition.url)) " yet." } }
}

fn is_no_copy(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(instep_destination::Error::NoCopy { .. }))
}

pub(super) async fn first(
    State(served): State<Arc<ServedFleet>>,
    UriPath(name): UriPath<SourceName>,
    Query(query): Query<SourcePageQuery>,
    headers: HeaderMap,
) -> Response {
    let range = ChartRange::parse(&query.range);
    make(served, name, &headers, move |served, source, operator| {
        let name = &source.definition.name;
        let live = served.display.look(name);
        let live = live.map(|look| look.run().lock().unwrap_or_else(PoisonError::into_inner).figures());
        let (place, title) = (served.fleet.copy(source), name.as_str().to_owned());
        let copy = served.copies.make(move || copy::first_page(&place, &title, live, range));
        let known = async { tokio::join!(served.fleet.looks(name), served.fleet.survey(name), copy) };
        let (looks, survey, copy) = Handle::current().block_on(known);
        // Each part that cannot be read is left out, because the others say what is known.
        let missing = looks.as_ref().err().or(survey.as_ref().err()).map(ToString::to_string);
        let has_looks = looks.as_ref().map_or(source.standing.ended.is_some(), |looks| !looks.is_empty());
        let looks = looks.unwrap_or_default();
        let shown = ShownSource {
            source,
            looks: &looks,
            now: seconds(),
            operator,
            has_operators: served.access.has_operators(),
        };
        // A new Source has no copy yet, which is an error when it is read: one of several, if the state would be in a
        // database.
        let content = html! {
            (standing(&shown))
            section { h2 { "Its copy" } }
            @match copy {
                Some(Ok(copy)) => (copy.content),
                Some(Err(error)) if has_looks && !is_no_copy(&error) => (warning("The copy cannot be read", &format!("{error:#}"))),
                Some(Err(_)) => (no_copy(source)),
                None => (warning("The copy cannot be read", "Its state does not answer: try again in a moment.")),
            }
            @if let Some(missing) = &missing { (warning("The history and the documents of this Source are missing", missing)) }
            @if let Ok(Some(survey)) = &survey { (surveyed::graph(survey)) (surveyed::report(survey)) }
            (trend(&shown))
        };
        Ok(PageBody::new(name.as_str(), OVERVIEW, content))
    })
    .await
}

pub(super) async fn runs(
    State(served): State<Arc<ServedFleet>>,
    UriPath(name): UriPath<SourceName>,
    headers: HeaderMap,
) -> Response {
    make(served, name, &headers, |served, source, _| of_copy(served, source, copy::runs_page)).await
}

pub(super) async fn pending(
    State(served): State<Arc<ServedFleet>>,
    UriPath(name): UriPath<SourceName>,
    Query(query): Query<SourcePageQuery>,
    headers: HeaderMap,
) -> Response {
    make(served, name, &headers, move |served, source, _| {
        of_copy(served, source, |copy| copy::pending_page(copy, &query.after))
    })
    .await
}
