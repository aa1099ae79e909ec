//! `instep publish`: write or refresh the documents of a folder.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use instep_source::{DumpPolicy, HostSetup, PublishOptions, PublishReport};
use serde_json::json;

use crate::{
    args::source::Source,
    config::Config,
    exit::Exit,
    ui::{
        Output,
        format::{bytes, count, counted, elapsed},
        publishing::{Differences, Publishing},
    },
};

/// Write or refresh the documents of a folder, as files that any web server can serve
///
/// Opens only files that changed since the last run, and rewrites only documents that change. Run it by cron.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Publish {
    /// The folder whose files are the resources
    dir: PathBuf,
    /// The URL that the folder is served at
    #[arg(long, value_name = "URL")]
    base_url: String,
    #[command(flatten)]
    source: Source,
    /// Show what would be published, and record and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Needs a server: serve --versions
    #[arg(long, hide = true)]
    versions: bool,
}

const EXAMPLES: &str = "\
Examples:
  instep publish /srv/data --base-url https://example.org/data/
  instep publish /srv/data --base-url https://example.org/data/ --dry-run
  instep publish /srv/data --base-url https://example.org/ --exclude 'drafts/**' --hash md5,sha-256
  instep publish /mnt/readonly --base-url https://example.org/ --out /srv/documents --state /var/lib/instep";

impl Publish {
    pub(crate) fn run(self, config: &Config, output: &Output) -> anyhow::Result<Exit> {
        if self.versions {
            bail!(
                "Prior versions need a server: a TimeGate answers by Accept-Datetime, and a Memento with its own \
                 datetime, which files cannot; use instep serve --versions"
            );
        }
        let options =
            self.source.options(&self.dir, &self.base_url, self.dir.clone(), DumpPolicy::Never, config)?;
        match self.dry_run {
            true => show(&options, output),
            false => publish_once("publish", &options, output),
        }
    }
}

/// Tells what a publication would come to, resource by resource.
fn show(options: &PublishOptions, output: &Output) -> anyhow::Result<Exit> {
    let monitor = Publishing::new(*output);
    let mut differences = Differences::new(*output);
    let report = instep_source::preview(options, &monitor, &mut |difference| differences.tell(&difference));
    monitor.finish();
    let report = report?;
    let Differences { unknown, differing, missing, .. } = differences;
    let figures = format!("+{} ~{} -{}", count(unknown), count(differing), count(missing));
    output.line(format!("Would publish: {figures}; {} looked at", counted(report.seen, "file")));
    output.object(
        "summary",
        json!({
            "command": "publish", "dry_run": true, "created": unknown, "updated": differing, "deleted": missing,
            "skipped": report.skipped,
        }),
    );
    Ok(if report.skipped > 0 { Exit::Problems } else { Exit::Done })
}

/// Publishes, and tells what came of it.
pub(super) fn publish_once(command: &str, options: &PublishOptions, output: &Output) -> anyhow::Result<Exit> {
    let monitor = Publishing::new(*output);
    let report = instep_source::publish(options, &monitor);
    monitor.finish();
    let report = report?;
    tell(output, &report);
    output.object("summary", summary(command, &report));
    Ok(if report.skipped > 0 { Exit::Problems } else { Exit::Done })
}

fn tell(output: &Output, report: &PublishReport) {
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
        tell_host(output, &report.host);
    }
}

/// What the operator adds to the host, so that readers find the Source.
fn tell_host(output: &Output, host: &HostSetup) {
    if let Some(redirect) = &host.well_known {
        output.note(format!("\nAt the root of the host, let {} lead to {}", redirect.from, redirect.to));
    }
    if !host.robots.is_empty() {
        output.note(format!("In the host's robots.txt:\n{}", host.robots.join("\n")));
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
