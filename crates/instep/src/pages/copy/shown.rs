//! Makes the pages of a copy, for the copy's own server and for that of a fleet: reads the data of each page, and makes
//! the pages below the first one.

use anyhow::Result;
use instep_destination::{self as destination, CopyLocation, Status};
use maud::html;

use super::{
    figures::LiveFigures,
    lag,
    overview::{ShownCopy, overview},
    pending, runs,
};
use crate::pages::{chart::ChartRange, design::PageBody};

/// The most runs and retries on the first page.
const MOST_FIRST: usize = 10;
/// The most runs and retries on a page of their own.
const MOST: usize = 100;

pub(crate) const RUNS: &str = "Runs";
pub(crate) const PENDING: &str = "Pending";

/// Reads the status of a copy. While a run is in progress, a copy that cannot be read is shown as empty: its first run
/// may not have made it yet.
///
/// Errors: the state cannot be read, and no run is in progress.
pub(crate) fn status(copy: &CopyLocation, is_running: bool) -> Result<Status> {
    match copy.status() {
        Ok(status) => Ok(status),
        Err(_) if is_running => Ok(Status::new(&copy.dir)),
        Err(error) => Err(error.into()),
    }
}

/// Makes the first page of a copy.
///
/// Errors: the state cannot be read.
pub(crate) fn first_page(
    copy: &CopyLocation,
    title: &str,
    live: Option<LiveFigures>,
    range: ChartRange,
) -> Result<PageBody> {
    let (now, status) = (destination::now(), status(copy, live.is_some())?);
    let reached = copy.reached_since(lag::begin(range, now)).unwrap_or_default();
    let runs = copy.past_runs(MOST_FIRST).unwrap_or_default();
    let pending = copy.pending_retries("", MOST_FIRST).unwrap_or_default();
    Ok(overview(&ShownCopy { now, status, runs, pending, reached, range, live }, title))
}

/// Makes the page of all runs that are kept.
///
/// Errors: the state cannot be read.
pub(crate) fn runs_page(copy: &CopyLocation) -> Result<PageBody> {
    let past = copy.past_runs(MOST)?;
    let is_active = copy.status()?.running;
    Ok(PageBody::new("Runs", RUNS, runs::table(&past, is_active)))
}

/// Makes the page of the resources that are retried by the next run, beginning after the URI `after`.
///
/// Errors: the state cannot be read.
pub(crate) fn pending_page(copy: &CopyLocation, after: &str) -> Result<PageBody> {
    let retries = copy.pending_retries(after, MOST)?;
    let next = retries.last().filter(|_| retries.len() == MOST).map(|last| last.uri.as_str());
    let next = next.map(|after| {
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("after", after).finish();
        format!("pending?{query}")
    });
    let content = html! {
        @if retries.is_empty() { p { "Nothing: no resource waits for another try." } } @else { (pending::table(&retries)) }
        @if let Some(next) = next { p.more { a href=(next) { "Next resources" } } }
    };
    Ok(PageBody::new("Retried by the next run", PENDING, content))
}
