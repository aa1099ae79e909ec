//! The first page of a fleet: its figures, and a table of its Sources.

use std::{collections::BTreeMap, time::Duration};

use instep_fleet::{
    FleetError, FleetFigures, FleetSource, FleetWorker, LookSample, SourceName, SourcePage, SourceState,
};
use maud::{Markup, html};
use resourcesync::DateTime;

use super::selection::{COLUMNS, SourceQuery};
use crate::{
    exit::Exit,
    pages::design::{PageBody, figures, outside_link, passed, warning},
    ui::format::{bytes, count, counted, name},
};

/// The most looks in a trend.
pub(super) const MOST_LOOKS: usize = 20;

/// The name of the page in the navigation.
pub(super) const OVERVIEW: &str = "Sources";

/// Everything that the page shows, as of one moment.
pub(super) struct ShownFleet {
    pub(super) now: i64,
    pub(super) query: SourceQuery,
    pub(super) selected: SourcePage,
    /// All Sources, by state.
    pub(super) states: BTreeMap<SourceState, usize>,
    pub(super) figures: FleetFigures,
    /// Bytes per second in the last seconds.
    pub(super) rate: u64,
    /// The workers of a fleet in a shared database; otherwise none.
    pub(super) workers: Vec<FleetWorker>,
    /// The last looks at the Sources of the page, or the fault for which they cannot be read.
    pub(super) trends: Result<BTreeMap<SourceName, Vec<LookSample>>, FleetError>,
}

/// Makes the page.
pub(super) fn overview(shown: &ShownFleet, title: &str) -> PageBody {
    let ShownFleet { query, selected, figures, .. } = shown;
    let content = html! {
        (verdict(shown))
        (headline(shown))
        section {
            h2 { "Sources" }
            form.search.wide role="search" method="get" action="./" {
                input type="search" name="q" value=(query.q) placeholder="Name or URL" aria-label="Find a Source by name or URL";
                @if !query.state.is_empty() { input type="hidden" name="state" value=(query.state); }
                @if !query.sort.is_empty() { input type="hidden" name="sort" value=(query.sort); }
                button { "Search" }
            }
            (states(query, selected))
            @if shown.states.is_empty() { p { "None yet." } }
            @else if selected.sources.is_empty() { p { "No Source matches. " a href="?" { "Show all" } } }
            @else { (table(shown)) }
            @if let Err(fault) = &shown.trends { p.soft { "The trends are missing: " (name(&fault.to_string())) } }
            (pager(query, selected))
        }
        @if figures.running + figures.ready + figures.ready_new > 0 {
            section {
                h2 { "Queue" }
                p { (counted(figures.running as u64, "run")) " in progress; due and waiting for their turn: "
                    (count(figures.ready as u64)) " known, " (count(figures.ready_new as u64)) " never visited." }
            }
        }
        @if !shown.workers.is_empty() {
            section { h2 { "Workers" } (workers(&shown.workers, shown.now)) }
        }
    };
    PageBody::new(title, OVERVIEW, content)
}

fn workers(workers: &[FleetWorker], now: i64) -> Markup {
    html! {
        table.listing.stacked.even #workers {
            thead { tr { th scope="col" { "Worker" } th.figure scope="col" { "Since" } th.figure scope="col" { "Runs" } th scope="col" { "Dashboard" } } }
            tbody {
                @for worker in workers {
                    tr {
                        td { (name(&worker.name)) }
                        td.figure { (since(Some(worker.began), now)) }
                        td.figure { (count(worker.running)) }
                        td { @if let Some(url) = &worker.url { (outside_link(url)) } @else { "\u{2013}" } }
                    }
                }
            }
        }
    }
}

fn verdict(shown: &ShownFleet) -> Markup {
    let number = |state| shown.states.get(&state).copied().unwrap_or_default() as u64;
    if let Some(fault) = &shown.figures.record_fault {
        return warning(
            &format!("The record of the fleet cannot be used: {}", name(fault)),
            "No run begins, and the results of runs wait, until it can be: if its disk is full, free space.",
        );
    }
    if let Some(fault) = &shown.figures.outage {
        return warning(
            &format!("Runs cannot use the place of their copies: {}", name(fault)),
            "They are tried again every ten seconds. Check the database and the object storage of the copies.",
        );
    }
    if let Some(reason) = &shown.figures.held_back {
        return warning(&format!("No run begins: {reason}"), "Free space, or raise the limit, and reload.");
    }
    let troubled = number(SourceState::Failing) + number(SourceState::Quarantined);
    match (troubled, number(SourceState::Waiting), shown.states.is_empty()) {
        (_, _, true) => warning("There is no Source yet", "Add one: instep source add URL"),
        (0, 0, _) => html! {},
        (0, 1, _) => warning("1 Source waits for approval", "Check its size, then approve it."),
        (0, waiting, _) => warning(
            &format!("{} wait for approval", counted(waiting, "Source")),
            "Check their sizes, then approve them.",
        ),
        (1, ..) => warning(
            "1 Source is not kept current",
            "Its page shows the reason, and what to do. All others run as usual.",
        ),
        (troubled, ..) => warning(
            &format!("{} are not kept current", counted(troubled, "Source")),
            "Their pages show the reason, and what to do. All others run as usual.",
        ),
    }
}

fn headline(shown: &ShownFleet) -> Markup {
    let number = |state| shown.states.get(&state).copied().unwrap_or_default() as u64;
    let all = shown.states.values().sum::<usize>() as u64;
    let figures_of = &shown.figures;
    let failed: u64 =
        figures_of.looks.iter().filter(|(code, _)| !matches!(code, 0 | 3)).map(|(_, number)| number).sum();
    let looks: u64 = figures_of.looks.values().sum();
    figures(&[
        ("Sources", "sources", html! { (count(all)) }, html! {}),
        ("In step", "in-step", html! { (count(number(SourceState::InStep))) }, html! {}),
        (
            "Failing",
            "failing",
            html! { (count(number(SourceState::Failing) + number(SourceState::Quarantined))) },
            html! { (count(number(SourceState::Quarantined))) " in quarantine" },
        ),
        ("Runs", "looks", html! { (count(looks)) }, html! { (count(failed)) " failed, since the start" }),
        (
            "Throughput",
            "rate",
            html! { (bytes(shown.rate)) "/s" },
            html! { (bytes(figures_of.transferred)) " since the start" },
        ),
        ("Size of all copies", "size", html! { (bytes(figures_of.bytes)) }, html! {}),
    ])
}

fn states(query: &SourceQuery, selected: &SourcePage) -> Markup {
    let all: usize = selected.states.values().sum();
    html! {
        nav.ranges.states aria-label="States" {
            a href=(query.with(&[("state", ""), ("page", "")])) aria-current=[query.state.is_empty().then_some("true")] { "all " (count(all as u64)) }
            @for state in SourceState::ALL {
                @let number = selected.states.get(&state).copied().unwrap_or_default();
                @if number > 0 || query.state == state.as_str() {
                    a href=(query.with(&[("state", state.as_str()), ("page", "")])) aria-current=[(query.state == state.as_str()).then_some("true")] {
                        (words(state)) " " (count(number as u64))
                    }
                }
            }
        }
    }
}

fn table(shown: &ShownFleet) -> Markup {
    let (column, _, is_reversed) = shown.query.order();
    html! {
        div.scroll.tall tabindex="0" role="region" aria-label="Sources" {
            table.listing.even #sources {
                thead {
                    tr {
                        @for (name, label, _) in COLUMNS {
                            @let is_this = name == column;
                            @let next = if is_this && !is_reversed { format!("-{name}") } else { name.to_owned() };
                            th.figure[!matches!(name, "name" | "state")] scope="col" aria-sort=[is_this.then_some(if is_reversed { "descending" } else { "ascending" })] {
                                a href=(shown.query.with(&[("sort", &next), ("page", "")])) { (label) }
                            }
                        }
                        th scope="col" { "Trend" }
                    }
                }
                tbody { @for source in &shown.selected.sources { (row(source, shown)) } }
            }
        }
    }
}

fn row(source: &FleetSource, shown: &ShownFleet) -> Markup {
    let (standing, now) = (&source.standing, shown.now);
    let state = source.state(now);
    let looks = shown.trends.as_ref().ok().and_then(|trends| trends.get(&source.definition.name));
    html! {
        tr {
            td { a href=(format!("source/{}/", source.definition.name)) { (source.definition.name) } }
            td { (badge(state)) @if source.running.is_some() { " " small { "running" } } }
            td.figure { @if let Some(lag) = standing.lag(now) { (passed(Duration::from_secs(lag))) } @else { "\u{2013}" } }
            td.figure title=(name(&standing.summary)) { (since(standing.ended, now)) }
            td.figure { (next(source, now)) }
            td.figure { (count(standing.held)) }
            td.figure { (bytes(standing.bytes)) }
            td.figure { @if standing.pending > 0 { (count(standing.pending)) } @else { "\u{2013}" } }
            td { (trend(looks.map_or(&[], Vec::as_slice))) }
        }
    }
}

/// Draws the state as a coloured word.
pub(super) fn badge(state: SourceState) -> Markup {
    let class = match state {
        SourceState::InStep => "created",
        SourceState::Failing | SourceState::Quarantined => "deleted",
        _ => "updated",
    };
    html! { span class=(format!("kind {class}")) { (words(state)) } }
}

fn words(state: SourceState) -> &'static str {
    match state {
        SourceState::InStep => "in step",
        SourceState::Done => "done, not in step",
        SourceState::Waiting => "waits for approval",
        state => state.as_str(),
    }
}

/// Draws the time since a moment in short form.
pub(super) fn since(moment: Option<i64>, now: i64) -> Markup {
    html! {
        @match moment {
            None => "never",
            Some(moment) => {
                time datetime=(DateTime::from_unix_seconds(moment)) title=(DateTime::from_unix_seconds(moment)) {
                    (passed(Duration::from_secs(u64::try_from(now - moment).unwrap_or(0)))) " ago"
                }
            }
        }
    }
}

/// Draws the time until the next look.
pub(super) fn next(source: &FleetSource, now: i64) -> Markup {
    let standing = &source.standing;
    html! {
        @if source.running.is_some() || standing.wanted { "now" }
        @else if standing.paused || source.state(now) == SourceState::Waiting { "\u{2013}" }
        @else if standing.due <= now { "due" }
        @else {
            time datetime=(DateTime::from_unix_seconds(standing.due)) title=(DateTime::from_unix_seconds(standing.due)) {
                "in " (passed(Duration::from_secs(standing.due.abs_diff(now))))
            }
        }
    }
}

/// Draws the resources held after each of the last looks as small bars. Those of failed looks have another colour.
fn trend(looks: &[LookSample]) -> Markup {
    let top = looks.iter().map(|look| look.held).max().unwrap_or(0).max(1);
    let height = |held: u64| u64::try_from(u128::from(held) * 18 / u128::from(top)).unwrap_or(18).max(1);
    html! {
        @if !looks.is_empty() {
            svg.trend viewBox="0 0 100 20" preserveAspectRatio="none" role="img" aria-label=(format!("Resources after the last {}, {} at most", counted(looks.len() as u64, "run"), count(top))) {
                @for (place, look) in looks.iter().enumerate() {
                    @let has_worked = Exit::from_code(look.exit_code).has_worked();
                    rect class=(if has_worked { "updated" } else { "deleted" }) x=(place * 5) width="4" y=(20 - height(look.held)) height=(height(look.held)) {}
                }
            }
        }
    }
}

fn pager(query: &SourceQuery, selected: &SourcePage) -> Markup {
    let SourcePage { page, pages, .. } = *selected;
    html! {
        @if pages > 1 {
            nav.more aria-label="Pages of the table" {
                @if page > 1 { a href=(query.with(&[("page", &(page - 1).to_string())])) rel="prev" { "Previous" } " " }
                "Page " (count(page as u64)) " of " (count(pages as u64)) ", " (counted(selected.matching as u64, "Source"))
                @if page < pages { " " a href=(query.with(&[("page", &(page + 1).to_string())])) rel="next" { "Next" } }
            }
        }
    }
}
