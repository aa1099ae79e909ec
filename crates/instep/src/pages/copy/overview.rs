//! The first page of a copy: its state, the run in progress, problems, and pending retries.

use instep_destination::{PastRun, PendingRetry, ProblemKind, ReachedPoint, SourceStatus, Status};
use maud::{Markup, html};
use resourcesync::DateTime;

use super::{
    figures::LiveFigures,
    hosts, lag, pending,
    runs::{self, remedy},
};
use crate::{
    exit::Exit,
    pages::{
        chart::ChartRange,
        design::{PageBody, ago, copyable, figures, moment, outside_link, passed, warning},
    },
    ui::format::{bytes, count, counted, name, shell_word},
};

/// The name of the page in the navigation.
pub(super) const OVERVIEW: &str = "Overview";

/// Everything that the page shows, as of one moment.
pub(super) struct ShownCopy {
    pub(super) now: DateTime,
    pub(super) status: Status,
    pub(super) runs: Vec<PastRun>,
    pub(super) pending: Vec<PendingRetry>,
    /// The progress of the copy after its runs, for the chart of the lag.
    pub(super) reached: Vec<ReachedPoint>,
    /// The time that the chart covers.
    pub(super) range: ChartRange,
    /// The run in progress, of this process or of another one; `None` if there is none.
    pub(super) live: Option<LiveFigures>,
}

/// Makes the page.
pub(super) fn overview(state: &ShownCopy, title: &str) -> PageBody {
    let ShownCopy { now, status, runs, pending, reached, range, live } = state;
    let content = html! {
        p.lead {
            "A copy of " @if let Some(url) = &status.url { (outside_link(url)) } @else { "a Source that is not known yet" }
            ", kept in step with ResourceSync."
        }
        (verdict(state))
        (headline(state))
        @if let Some(live) = live { (progress(live)) }
        section {
            div.heading {
                h2 #lag { "Lag over time" }
                (range.links(|choice| format!("./?range={}#lag", choice.name())))
            }
            (lag::chart(reached, *range, *now))
            p.soft { "The age of the Source's state that the copy has reached." }
        }
        @if let Some(last) = runs.iter().find(|run| run.ended.is_some()).filter(|run| !run.problems.is_empty()) {
            section { h2 { "Problems of the last run" } (runs::problems(&last.problems)) }
        }
        @if status.owed > 0 {
            section {
                h2 { "Retried by the next run" }
                (kinds(status))
                (pending::table(pending))
                @if status.owed > pending.len() as u64 { p.more { a href="pending" { "All " (count(status.owed)) } } }
            }
        }
        @if let Some(live) = live { section { h2 { "Throughput by host" } (hosts::table(&live.hosts, &live.waiting)) } }
        section {
            h2 { "Last runs" }
            (runs::table(runs, status.running))
            p.more { a href="runs" { "All runs that are kept" } }
        }
        @if let Some(url) = &status.url {
            section {
                h2 { "Check it" }
                p.soft { "Compare every file with what the Source lists, without changing anything:" }
                (copyable(&format!("instep audit {} {}", shell_word(url), "DIR")))
            }
        }
    };
    PageBody::new(title, OVERVIEW, content)
}

/// Returns the state of the copy in a sentence, and what to do if it is not in step.
fn verdict(state: &ShownCopy) -> Markup {
    let ShownCopy { status, runs, .. } = state;
    let Some(exit) = status.last_exit_code.map(Exit::from_code) else {
        let what = if status.running { "The first run is under way" } else { "No run has ended yet" };
        return warning(what, "The copy is complete when a run ends without problems.");
    };
    if exit == Exit::Done && status.owed == 0 {
        let all_here = "Everything that the Source listed at the last run is here, verified.";
        return match doubt(status).or_else(|| unfinished(status, &[Exit::Done])) {
            None => html! { p.ok role="status" { strong { "In step." } " " (all_here) } },
            Some(doubt) => warning("Done, not in step", &format!("{all_here} {doubt}")),
        };
    }
    if status.owed > 0 && matches!(exit, Exit::Done | Exit::Problems) {
        let what = format!("{} could not be fetched yet", counted(status.owed, "resource"));
        let again = if status.owed == 1 { "it" } else { "them" };
        // A document or an entry that could not be used may name resources that nobody knows of.
        let unread = [ProblemKind::Document, ProblemKind::Entry];
        let is_unread = unread.iter().any(|kind| status.last_problems.contains_key(kind.as_str()));
        let doubt = doubt(status).or_else(|| unfinished(status, &[Exit::Done, Exit::Problems]));
        let rest = match doubt {
            None if !is_unread => "Everything else is here and verified.".to_owned(),
            doubt => doubt.unwrap_or_default(),
        };
        return warning(&what, format!("{rest} The next run tries {again} again.").trim_start());
    }
    let last = runs.iter().find(|run| run.ended.is_some());
    let summary = last.and_then(|run| run.summary.as_deref());
    let problem = last.and_then(|run| run.problems.first());
    let remedy = problem.map_or_else(String::new, |problem| remedy(&problem.kind));
    warning(
        &format!("The last run did not succeed: {}. {}", exit.meaning(), name(summary.unwrap_or_default())),
        &remedy,
    )
}

/// Returns the reason why a copy differs from its Source, or may differ, although no run failed.
fn doubt(status: &Status) -> Option<String> {
    let kept: u64 = status.sources.iter().map(|source| source.kept).sum();
    let unknown =
        status.sources.iter().filter_map(|source| source.coverage).find(|known| !known.is_complete());
    match (kept, unknown) {
        (0, None) => None,
        (0, Some(coverage)) => Some(format!("What else it has is not known: {coverage}.")),
        (kept, _) => Some(format!(
            "{} kept although gone at the Source: --delete removes them.",
            counted(kept, "resource")
        )),
    }
}

/// Returns a sentence about a Source over which the last run did not end as it should: the last run of all may have been
/// over another one.
fn unfinished(status: &Status, right: &[Exit]) -> Option<String> {
    let is_right = |source: &&SourceStatus| {
        let code = source.last_run.as_ref().and_then(|run| run.exit_code);
        code.is_none_or(|code| right.contains(&Exit::from_code(code)))
    };
    let source = status.sources.iter().find(|source| !is_right(source))?;
    Some(format!("The last run over {} did not succeed.", name(&source.url)))
}

fn headline(state: &ShownCopy) -> Markup {
    let ShownCopy { now, status, .. } = state;
    let lag = status.lag(*now);
    let mut shown = vec![
        ("Resources", "held", html! { (count(status.held)) }, html! {}),
        ("Size", "size", html! { (bytes(status.bytes)) }, html! {}),
        (
            "Lag",
            "lag",
            html! { @if let Some(lag) = lag { (passed(lag)) } @else { "unknown" } },
            html! { @if let Some(reached) = status.checkpoint { "up to " (moment(reached)) } },
        ),
        ("To retry", "pending", html! { (count(status.owed)) }, html! {}),
        (
            "Last run",
            "last-run",
            html! { @if let Some(ended) = status.last_run { (ago(ended, *now)) } @else { "none yet" } },
            html! { @if status.running { "a run is active" } },
        ),
    ];
    if let Some(free) = status.free {
        shown.push(("Free on the disk", "free", html! { (bytes(free)) }, html! {}));
    }
    figures(&shown)
}

fn progress(live: &LiveFigures) -> Markup {
    let (done, all) = (live.committed, live.actions);
    html! {
        section {
            h2 { "Now: " (live.phase_name()) }
            @if all > 0 {
                p {
                    progress value=(done.min(all)) max=(all) aria-label="Progress of this round" {}
                    span data-figure="done" { (count(done)) " of " (counted(all, "resource")) }
                    ", " (bytes(live.bytes))
                    @if live.planned_bytes > 0 { " of " (bytes(live.planned_bytes)) }
                    @if live.problems > 0 { ", " (counted(live.problems, "problem")) }
                }
            } @else if live.phase == "waiting" { p.soft { "Nothing to do in this round." } }
            @if !live.note.is_empty() { p.soft { (name(&live.note)) } }
            (hosts::requests(live))
        }
    }
}

fn kinds(status: &Status) -> Markup {
    let kinds: Vec<_> =
        status.problems.iter().map(|(kind, number)| format!("{} {kind}", count(*number))).collect();
    html! { p { (kinds.join(", ")) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o523_everything_else_is_here_only_after_a_run_that_has_read_everything() {
        let says_so = |exit: Exit, problems: &[&str]| {
            let mut status = Status::new("/copy");
            (status.owed, status.last_exit_code) = (2, Some(exit.code()));
            status.last_problems =
                problems.iter().map(|kind| ((*kind).to_owned(), (1, String::new()))).collect();
            let (now, range) = (DateTime::from_unix_seconds(1), ChartRange::Day);
            let (runs, pending, reached) = (Vec::new(), Vec::new(), Vec::new());
            let shown = ShownCopy { now, status, runs, pending, reached, range, live: None };
            verdict(&shown).into_string().contains("Everything else is here")
        };
        assert!(says_so(Exit::Problems, &["missing"]));
        assert!(!says_so(Exit::Problems, &["document", "missing"]));
        for exit in [Exit::Budget, Exit::Unreachable, Exit::Refused, Exit::Interrupted] {
            assert!(!says_so(exit, &[]), "{exit:?}");
        }
    }
}
