//! The state of a copy as JSON, for `instep status --json` and for programs that read the pages.

use std::collections::BTreeMap;

use instep_destination::{SourceStatus, Status, now};
use resourcesync::DateTime;
use serde_json::{Value, json};

use crate::ui::format::coverage;

fn text(time: Option<DateTime>) -> Option<String> {
    time.map(|time| time.to_string())
}

/// Returns the state of a copy as JSON, in the form that `instep status --json` prints and the reference documents.
pub(crate) fn to_json(status: &Status) -> Value {
    json!({
        // A name that is not UTF-8 has no form in JSON.
        "dir": status.dir.to_string_lossy(),
        "url": status.url,
        "held": status.held,
        "bytes": status.bytes,
        "owed": status.owed,
        "problems": status.problems,
        "checkpoint": text(status.checkpoint),
        "last_run": text(status.last_run),
        "last_exit_code": status.last_exit_code,
        "last_summary": status.last_summary,
        "last_problems": numbers(&status.last_problems),
        "lag_seconds": status.lag(now()).map(|lag| lag.as_secs_f64()),
        "free_bytes": status.free,
        "objects": status.objects.as_ref().map(|objects| json!({
            "place": objects.place, "packs": objects.packs, "bytes": objects.bytes, "dead": objects.dead,
        })),
        "running": status.running,
        "sources": status.sources.iter().map(source_object).collect::<Vec<_>>(),
    })
}

fn source_object(source: &SourceStatus) -> Value {
    let run = source.last_run.as_ref();
    json!({
        "url": source.url,
        "held": source.held,
        "owed": source.owed,
        "problems": source.problems,
        "kept": source.kept,
        "checkpoint": text(source.checkpoint),
        "lag_seconds": source.lag(now()).map(|lag| lag.as_secs_f64()),
        "coverage": source.coverage.map(coverage),
        "last_run": text(run.and_then(|run| run.ended)),
        "last_exit_code": run.and_then(|run| run.exit_code),
        "last_summary": run.and_then(|run| run.summary.as_ref()),
        "last_problems": run.map(|run| numbers(&run.problems)).unwrap_or_default(),
    })
}

/// Returns the number of problems of each kind.
fn numbers(problems: &BTreeMap<String, (u64, String)>) -> BTreeMap<&String, u64> {
    problems.iter().map(|(kind, (number, _))| (kind, *number)).collect()
}
