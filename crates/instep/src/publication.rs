//! Publishing once and serving until a signal, for the commands that do either.

use std::sync::Arc;

use instep_source::{
    HostSetup, PublishOptions, PublishReport,
    serve::{self, ServeOptions},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    exit::Exit,
    runtime,
    ui::{
        Output,
        format::{bytes, count, counted, elapsed},
        publishing::Publishing,
    },
};

/// Publishes once, and reports the result for a command.
///
/// Errors: those of the publication.
pub(crate) fn publish_once(command: &str, options: &PublishOptions, output: &Output) -> anyhow::Result<Exit> {
    let monitor = Publishing::new(*output);
    let report = instep_source::publish(options, &monitor);
    monitor.finish();
    let report = report?;
    show(output, &report);
    output.object("summary", summary(command, &report));
    Ok(if report.skipped > 0 { Exit::Problems } else { Exit::Done })
}

/// Publishes and serves until a signal ends it.
///
/// Errors: the address cannot be listened on, or the first publication fails.
pub(crate) fn serve_until_signal(options: ServeOptions, output: &Output) -> anyhow::Result<Exit> {
    let runtime = runtime::start()?;
    let shutdown = CancellationToken::new();
    let signals = runtime::Signals::listen(&runtime, shutdown.clone());
    let monitor = Arc::new(Publishing::new(*output));
    let events = Arc::clone(&monitor) as Arc<dyn instep_source::Monitor>;
    let served = runtime.block_on(serve::serve(options, events, shutdown.cancelled()));
    monitor.finish();
    served?;
    Ok(signals.exit())
}

fn show(output: &Output, report: &PublishReport) {
    let state = if report.is_nothing_new() { "Nothing new" } else { "Published" };
    let changes = format!(
        "+{} ~{} -{} ={}",
        count(report.created),
        count(report.updated),
        count(report.deleted),
        count(report.unchanged)
    );
    let written = counted(report.documents.len() as u64, "document");
    output.closing(format!(
        "{state}: {changes}; {}, {}; {written} written in {}",
        counted(report.resources, "resource"),
        bytes(report.bytes),
        elapsed(report.elapsed)
    ));
    output.closing(format!("Source Description: {}", report.source_description));
    if let Some(kept) = report.kept_states {
        let states = counted(kept.states, "past and present state");
        output.closing(format!("Kept for Change Dumps and patches: {states}, {}", bytes(kept.bytes)));
    }
    if !report.documents.is_empty() {
        show_host(output, &report.host);
    }
}

/// Shows what the operator adds to the host so that readers find the Source.
fn show_host(output: &Output, host: &HostSetup) {
    if let Some(redirect) = &host.well_known {
        output.note(format!("\nAt the root of the host, redirect {} to {}", redirect.from, redirect.to));
    }
    if !host.robots.is_empty() {
        output.note(format!("Add to the host's robots.txt:\n{}", host.robots.join("\n")));
    }
    if !host.nginx.is_empty() {
        output.note(format!("\nFor nginx:\n{}", host.nginx.trim_end()));
    }
}

fn summary(command: &str, report: &PublishReport) -> serde_json::Value {
    json!({
        "command": command,
        "created": report.created,
        "updated": report.updated,
        "deleted": report.deleted,
        "unchanged": report.unchanged,
        "skipped": report.skipped,
        "resources": report.resources,
        "bytes": report.bytes,
        "documents": report.documents,
        "kept_states": report.kept_states.map(|kept| json!({ "states": kept.states, "bytes": kept.bytes })),
        "at": report.at.to_string(),
        "completed": report.completed.to_string(),
        "source_description": report.source_description.as_str(),
        "host": {
            "well_known": report.host.well_known.as_ref().map(|redirect| redirect.to.as_str()),
            "robots": report.host.robots,
            "nginx": report.host.nginx,
        },
        "seconds": report.elapsed.as_secs_f64(),
    })
}
