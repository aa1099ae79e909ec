//! Publishing once, previewing a publication, and serving until a signal: the work of the commands that publish.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use instep_source::{
    Error, HostSetup, LeftOutCounts, PublishOptions, PublishReport,
    serve::{self, ServeOptions},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    args::waiting::WaitArgs,
    exit::Exit,
    listener::RunningServer,
    runtime::{self, Reload},
    service,
    ui::{
        Output,
        format::{bytes, count, counted, elapsed},
        publishing::{Differences, Publishing},
    },
};

/// The pause between two attempts of a standby server.
const STANDBY_PAUSE: Duration = Duration::from_millis(200);

/// The note about a publication without resources (P8).
pub(crate) const NOTHING_SELECTED: &str = "No resource: the folder or the list of resources has none that can be published, or none matches the filters";

/// The longest wait for the lock after a restart: a publication of the former round may still continue for a while.
const LOCKED_FOR: Duration = Duration::from_secs(60);

/// Publishes once and shows the result for a command.
///
/// Errors: those of the publication.
pub(crate) fn publish_once(
    command: &str,
    options: &PublishOptions,
    wait: WaitArgs,
    output: &Output,
) -> anyhow::Result<Exit> {
    publish_once_and(command, options, wait, output, &|_| Ok(()))
}

/// Publishes once, then calls `then` with the report, and shows the result for a command.
///
/// Errors: those of the publication, and of `then`.
pub(crate) fn publish_once_and(
    command: &str,
    options: &PublishOptions,
    wait: WaitArgs,
    output: &Output,
    then: &dyn Fn(&PublishReport) -> anyhow::Result<()>,
) -> anyhow::Result<Exit> {
    // The advice names --host-setup, which only this command has.
    let is_first = command == "publish" && !instep_source::is_published(&options.state)?;
    let monitor = Publishing::new(*output);
    // It is hopeless to wait for a server, which holds its Source for as long as it runs.
    let is_served = || matches!(RunningServer::find(&options.state), Ok(Some(_)));
    let publish = || Ok(instep_source::publish(options, &monitor)?);
    let report = wait.until_free(&options.state, output, is_served, publish);
    monitor.finish();
    let report = report?;
    then(&report)?;
    show(output, options, &report, is_first);
    output.object("summary", summary(command, &report));
    Ok(if report.skipped > 0 { Exit::Problems } else { Exit::Done })
}

/// Shows the changes that a publication would make, resource by resource, for a command.
///
/// Errors: the content or the catalogue cannot be read.
pub(crate) fn preview(command: &str, options: &PublishOptions, output: &Output) -> anyhow::Result<Exit> {
    let monitor = Publishing::new(*output);
    let mut differences = Differences::new(*output);
    let report = instep_source::preview(options, &monitor, &mut |difference| differences.add(&difference));
    monitor.finish();
    let report = report?;
    let Differences { unknown, differing, missing, .. } = differences;
    let figures = format!("+{} ~{} -{}", count(unknown), count(differing), count(missing));
    output.line(format!("Would publish: {figures}; {} checked", counted(report.seen, "file")));
    if report.seen == 0 {
        output.note(NOTHING_SELECTED);
    }
    output.object(
        "summary",
        json!({
            "command": command, "dry_run": true, "created": unknown, "updated": differing, "deleted": missing,
            "skipped": report.skipped,
        }),
    );
    Ok(if report.skipped > 0 { Exit::Problems } else { Exit::Done })
}

/// Publishes and serves until a signal ends it. After SIGHUP it continues with the options that `reload` returns, or
/// with the former ones if it cannot serve with the new ones.
///
/// Errors: the address cannot be listened on, or the first publication fails.
pub(crate) fn serve_until_signal(
    options: ServeOptions,
    reload: Reload<'_, ServeOptions>,
    output: &Output,
) -> anyhow::Result<Exit> {
    let runtime = runtime::start()?;
    let shutdown = CancellationToken::new();
    let ending = "requests in flight are finished";
    let signals = runtime::Signals::listen(&runtime, shutdown.clone(), *output, ending);
    let hangups = runtime::Hangups::listen(&runtime);
    let monitor = Arc::new(Publishing::new(*output));
    let served = runtime.block_on(service::watched(async {
        let (mut options, mut former, mut restarted) = (options, None, None);
        loop {
            let events = Arc::clone(&monitor) as Arc<dyn instep_source::PublishMonitor>;
            let ending = shutdown.child_token();
            let mut serving = pin!(serve_when_free(options.clone(), events, &ending, restarted.is_some()));
            tokio::select! {
                served = &mut serving => match (served, restarted) {
                    // A publication of the former round may still have the lock.
                    (Err(Error::Locked { .. }), Some(since)) if Instant::elapsed(&since) < LOCKED_FOR => {
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                    (Err(error), _) => match former.take() {
                        Some(working) if !monitor.take_served() => {
                            runtime::restored(&hangups, &error.into(), output);
                            options = working;
                        }
                        _ => return Err(error),
                    },
                    (served, _) => return served,
                },
                next = runtime::reloaded(&hangups, reload, options.tls.is_some(), output) => {
                    ending.cancel();
                    if let Err(error) = serving.await {
                        tracing::warn!(%error, "the server ended with an error");
                    }
                    // The former options are kept for a return to them only if they have worked.
                    if monitor.take_served() {
                        former = Some(options);
                    }
                    (options, restarted) = (next, Some(Instant::now()));
                }
            };
        }
    }));
    monitor.finish();
    served?;
    Ok(signals.exit())
}

/// Serves until `ending`. A server that stands by first waits while another run holds its Source or its address; after
/// a restart that may be its own former round, so nothing is reported then.
async fn serve_when_free(
    options: ServeOptions,
    monitor: Arc<dyn instep_source::PublishMonitor>,
    ending: &CancellationToken,
    is_restarted: bool,
) -> Result<(), Error> {
    let mut has_reported = is_restarted;
    loop {
        let served = serve::serve(options.clone(), Arc::clone(&monitor), ending.cancelled()).await;
        let holder = match &served {
            Err(error) if options.stand_by => held_by(error),
            _ => None,
        };
        let Some(holder) = holder else { return served };
        if !std::mem::replace(&mut has_reported, true) {
            monitor.standing_by(&holder, None);
        }
        tokio::select! {
            () = ending.cancelled() => return Ok(()),
            () = tokio::time::sleep(STANDBY_PAUSE) => {}
        }
    }
}

/// Returns the holder of the Source or of the address, for a message; `None` for any other error.
fn held_by(error: &Error) -> Option<String> {
    match error {
        Error::Locked { holder, .. } => Some(holder.clone()),
        Error::Listen { address, source } if source.kind() == std::io::ErrorKind::AddrInUse => {
            Some(format!("the server at {address}"))
        }
        _ => None,
    }
}

fn show(output: &Output, options: &PublishOptions, report: &PublishReport, is_first: bool) {
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
    if let Some(place) = options.deliver_to.as_ref().filter(|_| report.delivered > 0) {
        output.closing(format!("Delivered to {place}: {}", counted(report.delivered, "document")));
    }
    output.closing(format!("Source Description: {}", report.source_description));
    if report.resources == 0 {
        output.note(NOTHING_SELECTED);
    }
    show_left_out(output, report.left_out);
    if let Some(kept) = report.kept_states {
        let states = counted(kept.states, "past and present state");
        output.closing(format!("Kept for Change Dumps and patches: {states}, {}", bytes(kept.bytes)));
    }
    if !report.documents.is_empty() {
        for moved in &report.host.moved {
            let (from, to) = (&moved.from, &moved.to);
            output.note(format!(
                "The Source has moved: redirect (301) each path below {from} to the same path below {to}"
            ));
        }
    }
    if is_first && options.deliver_to.is_none() {
        output.note("Next: set up the host once; add --host-setup nginx, apache or caddy to see how");
    }
}

/// Shows how many files are not published because of their mode, kind or name.
fn show_left_out(output: &Output, left_out: LeftOutCounts) {
    let reasons = [
        (left_out.private, ["not readable by everybody"; 2]),
        (left_out.links, ["symbolic link", "symbolic links"]),
        (left_out.special, ["neither file nor folder"; 2]),
        (left_out.names, ["hidden name or editor's backup", "hidden names or editors' backups"]),
    ];
    let reasons: Vec<_> = reasons
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, [one, many])| format!("{} {}", count(number), if number == 1 { one } else { many }))
        .collect();
    if !reasons.is_empty() {
        output.closing(format!("Not published: {} (-v lists them)", reasons.join(", ")));
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
        "left_out": {
            "private": report.left_out.private,
            "links": report.left_out.links,
            "special": report.left_out.special,
            "names": report.left_out.names,
        },
        "resources": report.resources,
        "bytes": report.bytes,
        "documents": report.documents,
        "delivered": report.delivered,
        "kept_states": report.kept_states.map(|kept| json!({ "states": kept.states, "bytes": kept.bytes })),
        "at": report.at.to_string(),
        "completed": report.completed.to_string(),
        "source_description": report.source_description.as_str(),
        "host": {
            "well_known": report.host.well_known.as_ref().map(|redirect| redirect.to.as_str()),
            "robots": report.host.robots,
            "moved": moved(&report.host),
            "nginx": report.host.nginx,
        },
        "seconds": report.elapsed.as_secs_f64(),
    })
}

fn moved(host: &HostSetup) -> Vec<serde_json::Value> {
    host.moved.iter().map(|moved| json!({ "from": moved.from, "to": moved.to.as_str() })).collect()
}
