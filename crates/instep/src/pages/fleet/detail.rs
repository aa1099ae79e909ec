//! The page of one Source of a fleet: its standing, the actions of operators, its size over time, and the pages of
//! its copy.

use std::time::Duration;

use instep_fleet::{Cadence, FleetSource, LookCause, LookSample, SourceOperation, SourceStanding};
use maud::{Markup, html};
use resourcesync::DateTime;

use super::{
    access::SignedIn,
    overview::{badge, next, since},
};
use crate::{
    exit::Exit,
    pages::{
        chart::line,
        design::{figures, passed, warning},
    },
    ui::format::{bytes, counted, name},
};

/// Everything about a Source that the page shows in addition to its copy.
pub(super) struct ShownSource<'a> {
    pub(super) source: &'a FleetSource,
    pub(super) looks: &'a [LookSample],
    pub(super) now: i64,
    pub(super) operator: Option<&'a SignedIn>,
    /// `true` if operators can sign in here.
    pub(super) has_operators: bool,
}

/// Returns the part of the page above that of the copy.
pub(super) fn standing(shown: &ShownSource<'_>) -> Markup {
    let ShownSource { source, now, .. } = *shown;
    let standing = &source.standing;
    html! {
        (trouble(source, now))
        (figures(&[
            ("State", "state", badge(source.state(now)), html! { @if source.running.is_some() { "a run is in progress" } }),
            ("Last run", "last-look", since(standing.ended, now), html! { (name(&standing.summary)) }),
            ("Next run", "next-look", next(source, now), html! { (cadence(source)) }),
            ("First sized", "sized", html! { @if let Some(size) = standing.sized { (bytes(size.bytes)) } @else { "not yet" } }, html! {
                @if let Some(size) = standing.sized { (counted(size.resources, "resource")) }
            }),
        ]))
        section { h2 { "What you can do" } (actions(shown)) }
    }
}

/// Returns the part of the page below that of the copy.
pub(super) fn trend(shown: &ShownSource<'_>) -> Markup {
    let samples: Vec<_> =
        shown.looks.iter().map(|look| (DateTime::from_unix_seconds(look.at), look.bytes)).collect();
    let said = |last, top| format!("The copy has {}; the most was {}", bytes(last), bytes(top));
    html! {
        @if !samples.is_empty() {
            section { h2 { "Size over time" } (line(&samples, 1, &bytes, &said)) p.soft { @if samples.len() == 1 { "After the only run so far." } @else { "After each of the last " (counted(samples.len() as u64, "run")) "." } } }
        }
    }
}

/// Returns what an operator can do about a Source that fails.
fn remedy(standing: &SourceStanding) -> &'static str {
    match (standing.exit_code.map(Exit::from_code), standing.cause) {
        _ if standing.quarantined => {
            "It is in quarantine and runs only once a week. Fix the cause, then run it now: one successful run ends the quarantine."
        }
        (Some(Exit::Refused), Some(LookCause::TooManyDeletions)) => {
            "The guard keeps the copy as it is. Check the Source; if it is right, raise max-delete."
        }
        (Some(Exit::Refused), Some(LookCause::OtherSource)) => {
            "Give this Source a folder of its own with into, or another name if its state is in PostgreSQL; or move the copy that lies there away."
        }
        (Some(Exit::Refused), _) => "The guard keeps the copy as it is. Check the Source.",
        (Some(Exit::Usage), _) => "Correct the definition of this Source, then run it now.",
        (Some(Exit::Locked), _) => "Another process works on the copy. It is tried again automatically.",
        (Some(Exit::Storage), _) => {
            "Check that the copy can be written and that its disk has space. It is tried again automatically."
        }
        (Some(Exit::Unreachable), Some(LookCause::NoLogin)) => {
            "It asks for a login: set bearer-file or netrc-file for this Source."
        }
        _ => "It is tried again automatically, after longer and longer pauses.",
    }
}

fn trouble(source: &FleetSource, now: i64) -> Markup {
    let standing = &source.standing;
    if standing.failures > 0 && !standing.waits_for_approval(source.definition.approve) {
        let meaning = standing.exit_code.map(|code| Exit::from_code(code).in_short()).unwrap_or_default();
        let failed = match standing.failures {
            1 => "The last run failed".to_owned(),
            failures => format!("The last {} failed", counted(failures.into(), "run")),
        };
        let what = format!("{failed}: {meaning}. {}", name(&standing.summary));
        return warning(&what, remedy(standing));
    }
    match standing.sized {
        Some(size) if standing.waits_for_approval(source.definition.approve) => warning(
            &format!("It waits for approval: {}, {}", counted(size.resources, "resource"), bytes(size.bytes)),
            "Nothing is copied before an operator approves it.",
        ),
        _ if standing.paused => warning("It is paused", "No run begins until an operator resumes it."),
        _ if standing.is_new() && source.state(now) == instep_fleet::SourceState::New => {
            warning("It has never been in step", "Its first run measures it, then everything is copied.")
        }
        _ => html! {},
    }
}

fn cadence(source: &FleetSource) -> String {
    match &source.definition.cadence {
        Cadence::Adaptive => {
            format!(
                "as often as it changes; now every {}",
                passed(Duration::from_secs(source.standing.interval))
            )
        }
        Cadence::Every { seconds } => format!("every {}", passed(Duration::from_secs(*seconds))),
        Cadence::At { minutes } => {
            let times: Vec<_> = minutes.iter().map(|at| format!("{:02}:{:02}", at / 60, at % 60)).collect();
            format!("at {}", times.join(", "))
        }
    }
}

fn actions(shown: &ShownSource<'_>) -> Markup {
    let Some(operator) = shown.operator else {
        return html! {
            p.soft {
                @if shown.has_operators { a href="../../sign-in" { "Sign in" } " to run, pause, approve or forget this Source." }
                @else { "On this machine: instep source run, pause, resume, approve, remove." }
            }
        };
    };
    let mark = operator.mark.as_deref().unwrap_or_default();
    let fitting =
        SourceOperation::ALL.into_iter().filter(|operation| operation.fits(shown.source, shown.now));
    html! {
        div.actions {
            @for operation in fitting.filter(|operation| *operation != SourceOperation::Forget) {
                form method="post" action=(operation.as_str()) {
                    input type="hidden" name="mark" value=(mark);
                    button { (label(operation)) }
                }
            }
        }
        @if SourceOperation::Forget.fits(shown.source, shown.now) {
            details {
                summary { "Forget this Source" }
                p { "Its schedule and history go; its copy stays where it is." }
                form method="post" action="forget" {
                    input type="hidden" name="mark" value=(mark);
                    button { "Forget " (shown.source.definition.name) }
                }
            }
        }
    }
}

fn label(operation: SourceOperation) -> &'static str {
    match operation {
        SourceOperation::Run => "Run now",
        SourceOperation::Pause => "Pause",
        SourceOperation::Resume => "Resume",
        SourceOperation::Approve => "Approve",
        _ => "Forget",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o115_o722_the_remedy_fits_the_cause_of_the_failure() {
        for (code, cause, part) in [
            (6, Some(LookCause::TooManyDeletions), "raise max-delete"),
            (6, Some(LookCause::OtherSource), "with into"),
            // There the name leads to the copy, whatever its folder is (O722).
            (6, Some(LookCause::OtherSource), "another name if its state is in PostgreSQL"),
            (6, None, "Check the Source."),
            (4, Some(LookCause::NoLogin), "bearer-file"),
            (4, None, "tried again automatically"),
            (8, None, "space"),
            // A worker of an earlier version left the cause of the look before.
            (8, Some(LookCause::NoLogin), "space"),
        ] {
            let mut standing = SourceStanding::default();
            (standing.exit_code, standing.cause) = (Some(code), cause);
            assert!(remedy(&standing).contains(part), "{code} {cause:?}: {}", remedy(&standing));
        }
    }
}
