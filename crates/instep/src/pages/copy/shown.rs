//! A copy as its pages show it, whoever serves them: what is read for each page, and the pages below the first one.

use std::path::Path;

use anyhow::Result;
use instep_destination::{self as destination, Status};
use maud::html;

use super::{
    figures::LiveFigures,
    lag,
    overview::{ShownCopy, overview},
    pending, runs,
};
use crate::pages::{chart::ChartRange, design::PageBody};

/// Runs and retries on the first page, and on pages of their own.
const MOST_FIRST: usize = 10;
const MOST: usize = 100;

pub(crate) const RUNS: &str = "Runs";
pub(crate) const PENDING: &str = "Pending";

/// Reads the copy in a folder. One that its first run has not made yet is empty while that run is under way.
///
/// Errors: the state cannot be read.
pub(crate) fn status(dir: &Path, is_running: bool) -> Result<Status> {
    match destination::status(dir) {
        Ok(status) => Ok(status),
        Err(_) if is_running => Ok(Status::new(dir)),
        Err(error) => Err(error.into()),
    }
}

/// Makes the first page of the copy in a folder.
///
/// Errors: the state cannot be read.
pub(crate) fn first_page(
    dir: &Path,
    title: &str,
    live: Option<LiveFigures>,
    range: ChartRange,
) -> Result<PageBody> {
    let (now, status) = (destination::now(), status(dir, live.is_some())?);
    let reached = destination::reached_since(dir, lag::begin(range, now)).unwrap_or_default();
    let runs = destination::past_runs(dir, MOST_FIRST).unwrap_or_default();
    let pending = destination::pending_retries(dir, "", MOST_FIRST).unwrap_or_default();
    Ok(overview(&ShownCopy { now, status, runs, pending, reached, range, live }, title))
}

/// Makes the page of all runs that are kept.
///
/// Errors: the state cannot be read.
pub(crate) fn runs_page(dir: &Path) -> Result<PageBody> {
    let past = destination::past_runs(dir, MOST)?;
    let is_active = destination::status(dir)?.running;
    Ok(PageBody::new("Runs", RUNS, runs::table(&past, is_active)))
}

/// Makes the page of the resources that are retried by the next run, from the one behind `after`.
///
/// Errors: the state cannot be read.
pub(crate) fn pending_page(dir: &Path, after: &str) -> Result<PageBody> {
    let retries = destination::pending_retries(dir, after, MOST)?;
    let next = retries.last().filter(|_| retries.len() == MOST).map(|last| last.uri.as_str());
    let next = next.map(|after| {
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("after", after).finish();
        format!("pending?{query}")
    });
    let content = html! {
        @if retries.is_empty() { p { "Nothing: every resource that the Source listed is here." } } @else { (pending::table(&retries)) }
        @if let Some(next) = next { p.more { a href=(next) { "Next resources" } } }
    };
    Ok(PageBody::new("Retried by the next run", PENDING, content))
}
