//! The runs of a copy, and their problems with what to do about each.

use instep_destination::{PastRun, ProblemKind, RunProblem};
use maud::{Markup, html};

use crate::{
    advice,
    exit::Exit,
    pages::design::{moment, outside_link},
    ui::format::{count, elapsed, name},
};

/// Returns the runs as a table, the newest first, each with its outcome. If a run `is_active`, the newest has not ended
/// yet; any other run without an end was killed.
pub(super) fn table(runs: &[PastRun], is_active: bool) -> Markup {
    html! {
        @if runs.is_empty() { p { "None yet." } } @else {
            table.listing.stacked.even {
                thead { tr { th scope="col" { "Began" } th scope="col" { "Took" } th scope="col" { "Outcome" } th scope="col" { "Summary" } } }
                tbody {
                    @for (number, run) in runs.iter().enumerate() {
                        tr {
                            td { (moment(run.started)) }
                            td { (took(run)) }
                            td { (outcome(run, is_active && number == 0)) }
                            td { (name(run.summary.as_deref().unwrap_or_default())) }
                        }
                    }
                }
            }
        }
    }
}

fn took(run: &PastRun) -> String {
    let Some(ended) = run.ended else { return "\u{2013}".to_owned() };
    let micros = ended.unix_micros().saturating_sub(run.started.unix_micros());
    elapsed(std::time::Duration::from_micros(u64::try_from(micros).unwrap_or(0)))
}

fn outcome(run: &PastRun, is_active: bool) -> Markup {
    let (class, text) = match run.exit_code.map(Exit::from_code) {
        None if is_active => ("updated", "under way"),
        None => ("updated", "did not end"),
        Some(Exit::Done) => ("created", "done"),
        // The table has room for the short form only; the complete meaning is in the reference of exit codes.
        Some(exit) => ("deleted", exit.in_short()),
    };
    html! { span class=(format!("kind {class}")) { (text) } }
}

/// Returns the problems of a run, each with its reason and its remedy.
pub(super) fn problems(problems: &[RunProblem]) -> Markup {
    html! {
        dl.problems {
            @for problem in problems {
                div {
                    dt { (count(problem.count)) " " (problem.kind) }
                    dd {
                        p { (name(&problem.message)) }
                        @if let Some(first) = &problem.first { p.soft { "First: " (outside_link(first.as_str())) } }
                        p { strong { "What to do: " } (remedy(&problem.kind)) }
                    }
                }
            }
        }
    }
}

/// Returns the remedy for a kind of problem, as a sentence.
pub(super) fn remedy(kind: &str) -> String {
    let kind = ProblemKind::parse(kind);
    if let Some(advice) = kind.and_then(advice::for_problem) {
        let (first, rest) = advice.split_at(1);
        return format!("{}{rest}.", first.to_uppercase());
    }
    match kind {
        Some(ProblemKind::Mismatch) => {
            "It is fetched again by the next run. If it stays, the Source serves other bytes than it lists: tell its operator."
        }
        Some(ProblemKind::Missing) => {
            "It is tried again, and forgotten when the Source no longer lists it. If it stays, tell the Source's operator."
        }
        Some(ProblemKind::Unreachable) => "It is tried again by the next run. Check the network if many hosts have it.",
        Some(ProblemKind::Storage) => "Check free space, and that the folder of the copy can be written.",
        Some(ProblemKind::Entry | ProblemKind::Document) => {
            "The Source's documents are at fault; instep validate URL shows where. Tell the Source's operator."
        }
        _ => "The next run tries it again.",
    }
    .to_owned()
}
