//! The results of a run of `instep sync`: the last line, and the last object of `--json`.

use std::path::Path;

use instep_destination::{Accounting, Outcome, SyncReport};
use serde_json::json;

use crate::{
    exit::Exit,
    ui::format::{bytes, count, counted, coverage, elapsed},
};

/// Returns the last line: the results, in figures.
pub(super) fn closing(report: &SyncReport) -> String {
    let state = match report.outcome {
        Outcome::Planned => "Dry run",
        Outcome::Interrupted => "Interrupted",
        Outcome::BudgetSpent => "Stopped at a limit",
        Outcome::Complete if report.has_problems() => "Done with problems",
        _ if report.is_in_step() => "In step",
        _ => "Done",
    };
    let mut line =
        format!("{state}: +{} ~{} -{}", count(report.created), count(report.updated), count(report.deleted));
    // A run that uses Change Lists does not see the resources that did not change, so it has no number for them.
    if report.unchanged > 0 {
        line.push_str(&format!(" ={}", count(report.unchanged)));
    }
    if report.versions > 0 {
        line.push_str(&format!(", {} kept", counted(report.versions, "version")));
    }
    // Entries, not resources: a list of everything and the changes since then may name the same one.
    let not_selected =
        if report.entries.excluded == 1 { "entry not selected" } else { "entries not selected" };
    for (number, what) in [
        (report.kept, "kept although gone at the Source"),
        (report.failed, "failed"),
        (report.owed, "pending retry"),
        (report.skipped, "skipped"),
        (report.entries.excluded, not_selected),
        (report.unverified, "not verifiable"),
    ] {
        if number > 0 {
            line.push_str(&format!(", {} {what}", count(number)));
        }
    }
    if let Some(coverage) = report.coverage.filter(|coverage| !coverage.is_complete()) {
        line.push_str(&format!("; {coverage}"));
    }
    if report.outcome == Outcome::Planned {
        line.push_str(&format!("; {} to fetch", bytes(report.planned_bytes)));
    }
    let transfer = format!("{} in {}", bytes(report.bytes), counted(report.requests, "request"));
    format!("{line}; {transfer}, {}", elapsed(report.elapsed))
}

/// Returns the numbers of the entries that were read, by the results that they had.
fn entries(entries: Accounting) -> serde_json::Value {
    json!({
        "read": entries.read,
        "planned": entries.planned,
        "equal": entries.equal,
        "excluded": entries.excluded + entries.kept,
        "superseded": entries.superseded,
        "known": entries.known,
        "unusable": entries.unusable,
    })
}

/// Returns the object that `--json` prints last, with the exit code of the command.
pub(super) fn summary(url: &str, dir: &Path, report: &SyncReport, exit: Exit) -> serde_json::Value {
    json!({
        "command": "sync",
        "url": url,
        "dir": dir,
        "strategy": format!("{}", report.strategy),
        "reason": report.reason,
        "created": report.created,
        "updated": report.updated,
        "deleted": report.deleted,
        "versions": report.versions,
        "unchanged": report.unchanged,
        "failed": report.failed,
        "owed": report.owed,
        "skipped": report.skipped,
        "bytes": report.bytes,
        "planned_bytes": report.planned_bytes,
        "unverified": report.unverified,
        "requests": report.requests,
        "seconds": report.elapsed.as_secs_f64(),
        "checkpoint": report.checkpoint.map(|time| time.to_string()),
        "in_step": report.is_in_step(),
        "kept": report.kept,
        "entries": entries(report.entries),
        "coverage": report.coverage.map(coverage),
        "exit_code": exit.code(),
    })
}
