//! `instep sync`: make or refresh a copy.

mod relay;

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::bail;
use clap::Args;
use instep_destination::{
    self as destination, ChangeSink, Durability, MaxDelete, Monitor, Outcome, SyncOptions, SyncReport,
    Verify, Via,
};
use serde_json::json;

use crate::{
    args::{
        access::Access, callbacks::Callbacks, channels::Channels, selection::Selection, server::Server,
        values,
    },
    config::Config,
    exit::Exit,
    runtime,
    ui::{
        Output,
        changes::Events,
        format::{bytes, count, counted, elapsed},
        metrics::Metrics,
        progress::Progress,
    },
};
use relay::Relay;

/// Make or refresh a copy
///
/// The URL may be a site, a page, a Source Description, a Capability List, any list or index, or a plain Sitemap.
/// Nothing held: a baseline. Something held: the changes since, or the differences where the changes do not reach back.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Sync {
    /// Any URL of the Source
    url: String,
    /// The folder of the copy [default: ./HOST]
    dir: Option<PathBuf>,
    /// Print the plan and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Remove what the Source deleted
    #[arg(long)]
    delete: bool,
    /// Refuse to delete more: a count or a percentage [default: the larger of 10 and 10%]
    #[arg(long, value_name = "LIMIT")]
    max_delete: Option<MaxDelete>,
    /// Let an empty list empty the copy
    #[arg(long)]
    allow_empty: bool,
    /// Keep what is replaced or removed in this folder
    #[arg(long, value_name = "DIR")]
    backup_dir: Option<PathBuf>,
    /// Stay in step until told to end
    #[arg(short, long)]
    follow: bool,
    /// Publish the copy again while following, each resource with a link to its original, and serve it
    #[arg(long, requires = "follow")]
    republish: bool,
    /// Hash what is held, and fetch what is damaged
    #[arg(long)]
    repair: bool,
    /// Keep files that are already there and right, instead of fetching them
    #[arg(long)]
    adopt: bool,
    /// Verify the strongest digest offered, or all
    #[arg(long, default_value = "strongest", value_name = "WHICH")]
    verify: Verify,
    /// Way to synchronize: auto, list, dump, batch or changes
    #[arg(long, default_value = "auto", value_name = "WAY")]
    via: Via,
    /// The copy as it was then
    #[arg(long, value_parser = values::datetime, value_name = "DATETIME")]
    as_of: Option<resourcesync::DateTime>,
    /// Keep each version that is replaced or that the Source offers, in DIR/.instep/versions
    #[arg(long)]
    all_versions: bool,
    /// Put resources below a URI at a path of the copy
    #[arg(long, value_name = "URI=PATH", value_parser = pair)]
    map: Vec<(String, String)>,
    /// How a commit reaches the disk: group, file or none
    #[arg(long, default_value = "group", value_name = "HOW")]
    durability: Durability,
    /// Commit and end after so long
    #[arg(long, value_parser = values::duration, value_name = "DURATION")]
    max_duration: Option<Duration>,
    /// Commit and end after so many bytes
    #[arg(long, value_parser = values::size, value_name = "SIZE")]
    max_transfer: Option<u64>,
    /// Refuse a Source whose newest state is older
    #[arg(long, value_parser = values::duration, value_name = "DURATION")]
    max_age: Option<Duration>,
    /// Append a JSON line for each created, updated or deleted resource to this file, after its commit; `-` for stdout
    #[arg(long, value_name = "FILE", conflicts_with = "on_change")]
    events: Option<PathBuf>,
    /// Run this command of the shell after each commit, with such lines as its standard input
    #[arg(long, value_name = "COMMAND")]
    on_change: Option<String>,
    /// Write figures of the copy to this file after each run, in the text form of Prometheus
    #[arg(long, value_name = "FILE")]
    metrics_file: Option<PathBuf>,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    channels: Channels,
    #[command(flatten)]
    callbacks: Callbacks,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    access: Access,
}

const EXAMPLES: &str = "\
Examples:
  instep sync https://example.org/ ./copy
  instep sync https://example.org/ ./copy --delete --max-delete 500
  instep sync https://example.org/ ./copy -n --include '*.pdf'
  instep sync https://example.org/resourcelist.xml --limit 10
  instep sync https://example.org/ ./copy --follow --on-change 'jq -r .uri | xargs -r reindex'
  instep sync https://example.org/ ./copy --delete --follow --republish --listen 127.0.0.1:8081
  instep sync https://example.org/ ./copy --follow --callback-url https://mirror.example.net/push/ --callback-listen 127.0.0.1:8081";

fn pair(text: &str) -> Result<(String, String), String> {
    let (uri, path) = text.split_once('=').ok_or_else(|| format!("{text:?} is not URI=PATH"))?;
    Ok((uri.to_owned(), path.to_owned()))
}

impl Sync {
    pub(crate) fn run(self, config: &Config, output: &Output) -> anyhow::Result<Exit> {
        let has_events_on_stdout = self.events.as_deref().is_some_and(|file| file.as_os_str() == "-");
        let metrics_file = self.metrics_file.clone();
        let (options, relay) = self.options(config)?;
        let (url, dir) = (options.url.clone(), options.dir.clone());
        let runtime = runtime::start()?;
        let signals = runtime::Signals::listen(&runtime, options.shutdown.clone());
        let progress = Arc::new(Progress::new(*output));
        let metrics = metrics_file.map(|file| Metrics::new(file, &dir, progress.as_ref()));
        let monitor: &dyn Monitor = match &metrics {
            Some(metrics) => metrics,
            None => progress.as_ref(),
        };
        let report = match relay {
            None => runtime.block_on(destination::sync(&options, monitor)).map_err(Into::into),
            Some(relay) => runtime.block_on(relay.run(&options, monitor, output)),
        };
        if let Some(metrics) = &metrics
            && let Err(error) = metrics.end(exit_code(&report))
        {
            output.note(format!("The figures are not written: {error}"));
        }
        progress.finish();
        let report = report?;
        if has_events_on_stdout {
            output.note(told(&report));
        } else {
            output.closing(told(&report));
        }
        output.object("summary", summary(&url, &dir, &report));
        Ok(match report.outcome {
            Outcome::Interrupted => signals.exit(),
            _ => Exit::from_code(report.exit_code()),
        })
    }

    fn options(self, config: &Config) -> anyhow::Result<(SyncOptions, Option<Relay>)> {
        let url = values::url(&self.url).map_err(anyhow::Error::msg)?.into_string();
        let dir = self.dir.unwrap_or_else(|| default_dir(&url));
        let mut options = SyncOptions::new(url, dir);
        options.dry_run = self.dry_run;
        options.delete = self.delete;
        options.max_delete = self.max_delete.unwrap_or_default();
        options.allow_empty = self.allow_empty;
        options.backup_dir = self.backup_dir;
        options.follow = self.follow;
        options.repair = self.repair;
        options.adopt = self.adopt;
        options.verify = self.verify;
        options.via = self.via;
        options.as_of = self.as_of;
        options.all_versions = self.all_versions;
        options.maps = self.map;
        options.durability = self.durability;
        options.max_duration = self.max_duration;
        options.max_transfer = self.max_transfer;
        options.max_age = self.max_age;
        let events = self.events.map(Events::to).or(self.on_change.map(Events::Command));
        options.changes = events.map(|events| Arc::new(events) as Arc<dyn ChangeSink>);
        options.callbacks = self.callbacks.options();
        options.selection = self.selection.options();
        options.access = self.access.options(config)?;
        if self.server.listen.is_some() && !self.republish {
            bail!("--listen serves what is published again: add --follow --republish");
        }
        let relay =
            self.republish.then(|| Relay::new(&options.dir, self.server, self.channels)).transpose()?;
        Ok((options, relay))
    }
}

/// `./HOST` or `./HOST_PORT`, of the URL that the operator typed.
pub(crate) fn default_dir(url: &str) -> PathBuf {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let safe = |character: char| {
        if character.is_ascii_alphanumeric() || "-.".contains(character) { character } else { '_' }
    };
    let name: String = host.chars().map(safe).collect();
    PathBuf::from(".").join(name.trim_matches('.'))
}

/// How the run ends, as long as nobody interrupts it.
fn exit_code(report: &anyhow::Result<SyncReport>) -> u8 {
    match report {
        Ok(report) => report.exit_code(),
        Err(error) => error.downcast_ref().map_or(Exit::Failed.code(), destination::Error::exit_code),
    }
}

/// The last line: what was done, in figures.
fn told(report: &SyncReport) -> String {
    let state = match report.outcome {
        Outcome::Planned => "Would do",
        Outcome::Interrupted => "Interrupted",
        Outcome::BudgetSpent => "Budget spent",
        Outcome::Complete if report.has_problems() => "Done with problems",
        _ => "In step",
    };
    let mut line = format!(
        "{state}: +{} ~{} -{} ={}",
        count(report.created),
        count(report.updated),
        count(report.deleted),
        count(report.unchanged)
    );
    for (number, what) in [
        (report.versions, "versions kept"),
        (report.failed, "failed"),
        (report.owed, "owed"),
        (report.skipped, "skipped"),
    ] {
        if number > 0 {
            line.push_str(&format!(", {} {what}", count(number)));
        }
    }
    let transfer = format!("{} in {}", bytes(report.bytes), counted(report.requests, "request"));
    format!("{line}; {transfer}, {} ({})", elapsed(report.elapsed), report.reason)
}

fn summary(url: &str, dir: &std::path::Path, report: &SyncReport) -> serde_json::Value {
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
        "requests": report.requests,
        "seconds": report.elapsed.as_secs_f64(),
        "checkpoint": report.checkpoint.map(|time| time.to_string()),
        "exit_code": report.exit_code(),
    })
}

#[cfg(test)]
mod tests {
    use super::default_dir;

    #[test]
    fn a_copy_without_a_folder_is_named_by_its_host() {
        for (url, dir) in [
            ("https://example.org/a/b", "./example.org"),
            ("http://127.0.0.1:8080/", "./127.0.0.1_8080"),
            ("https://user@example.org?x", "./example.org"),
            ("https://../", "./"),
        ] {
            assert_eq!(default_dir(url), std::path::Path::new(dir));
        }
    }
}
