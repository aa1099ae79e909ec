//! `instep sync`: makes or updates a copy.

mod relay;
mod summary;

use std::{
    fs, io,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use anyhow::bail;
use clap::Args;
use instep_destination::{
    self as destination, ChangeSink, Durability, MaxDelete, Monitor, Outcome, Shutdown, SyncOptions,
    SyncReport, Verify, Via,
};

use crate::{
    args::{
        access::AccessArgs,
        callbacks::CallbackArgs,
        channels::ChannelArgs,
        folders,
        headings::{CHECKING, DELETING, FOLLOWING, OUTPUT, SPEED, VERSIONS, WHAT_TO_COPY},
        selection::SelectionArgs,
        server::ServerArgs,
        values,
    },
    config::Config,
    exit::Exit,
    runtime::{self, Hangups, Reload},
    ui::{Output, changes::Events, metrics::MetricsMonitor, progress::Progress},
};
use relay::Relay;
use summary::{closing, summary};

/// Make or update a copy of a Source
///
/// The URL may be a site, a page, a Source Description, a Capability List, any list or index, or a plain Sitemap. The
/// first run copies everything. Later runs apply the changes since, or compare the lists if the changes do not reach
/// back far enough. Nothing is deleted without --delete, and never more than --max-delete in one run.
#[derive(Debug, Args)]
#[command(after_help = HINT, after_long_help = EXAMPLES)]
pub(crate) struct SyncCommand {
    /// Any URL of the Source
    url: String,
    /// Folder of the copy [default: ./HOST]
    #[arg(value_parser = values::path)]
    dir: Option<PathBuf>,
    /// Show what would be done; write nothing
    #[arg(short = 'n', long, help_heading = WHAT_TO_COPY)]
    dry_run: bool,
    /// Keep running and copy changes as they are published
    #[arg(short, long, help_heading = WHAT_TO_COPY)]
    follow: bool,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Put resources below a URI at a path of the copy
    #[arg(long, value_name = "URI=PATH", value_parser = pair, help_heading = WHAT_TO_COPY, hide_short_help = true)]
    map: Vec<(String, String)>,
    /// Delete what the Source deleted
    #[arg(long, help_heading = DELETING)]
    delete: bool,
    /// Most deletions in one run, as 500 or 10% [default: 10%, at least 10]
    #[arg(long, value_name = "LIMIT", help_heading = DELETING)]
    max_delete: Option<MaxDelete>,
    /// Let an empty list empty the copy
    #[arg(long, help_heading = DELETING, hide_short_help = true)]
    allow_empty: bool,
    /// Keep replaced and deleted files in this folder
    #[arg(long, value_parser = values::path, value_name = "DIR", help_heading = DELETING, hide_short_help = true)]
    backup_dir: Option<PathBuf>,
    #[command(flatten)]
    access: AccessArgs,
    /// Way to synchronize: auto, list, dump, batch or changes
    #[arg(long, default_value = "auto", value_name = "WAY", help_heading = SPEED, hide_short_help = true)]
    via: Via,
    /// Stop after this time; what arrived is kept
    #[arg(long, value_parser = values::duration, value_name = "DURATION", help_heading = SPEED, hide_short_help = true)]
    max_duration: Option<Duration>,
    /// Stop after this many bytes; what arrived is kept
    #[arg(long, value_parser = values::size, value_name = "SIZE", help_heading = SPEED, hide_short_help = true)]
    max_transfer: Option<u64>,
    /// Append a JSON line per change of the copy to this file; - for stdout
    #[arg(long, value_name = "FILE", conflicts_with = "on_change", help_heading = OUTPUT)]
    events: Option<PathBuf>,
    /// Run this shell command after each commit, with such lines as its input
    #[arg(long, value_name = "COMMAND", help_heading = OUTPUT, hide_short_help = true)]
    on_change: Option<String>,
    /// Write metrics of the copy to this file in the Prometheus text format
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, hide_short_help = true)]
    metrics_file: Option<PathBuf>,
    /// Hash the files of the copy and fetch damaged ones again
    #[arg(long, visible_alias = "checksum", help_heading = CHECKING, hide_short_help = true)]
    repair: bool,
    /// Keep files that are already there and correct instead of fetching them
    #[arg(long, help_heading = CHECKING, hide_short_help = true)]
    adopt: bool,
    /// Put a new copy between files that the folder holds; none of them is overwritten
    #[arg(long, help_heading = CHECKING, hide_short_help = true)]
    into_existing: bool,
    /// Add another Source to the copy
    #[arg(long, help_heading = CHECKING, hide_short_help = true)]
    add_source: bool,
    /// Digests to verify: strongest or all
    #[arg(long, default_value = "strongest", value_name = "WHICH", help_heading = CHECKING, hide_short_help = true)]
    verify: Verify,
    /// When files reach the disk: group, file or none
    #[arg(long, default_value = "group", value_name = "HOW", help_heading = CHECKING, hide_short_help = true)]
    durability: Durability,
    /// Refuse a Source whose newest time is older
    #[arg(long, value_parser = values::duration, value_name = "DURATION", help_heading = CHECKING, hide_short_help = true)]
    max_age: Option<Duration>,
    /// With --follow: time between two rounds [default: 1s to 5m, by how often the Source changes]
    #[arg(long, value_parser = values::duration, value_name = "DURATION", requires = "follow",
        help_heading = FOLLOWING, hide_short_help = true)]
    poll: Option<Duration>,
    #[command(flatten)]
    callbacks: CallbackArgs,
    /// With --follow: publish the copy again, each resource with a link to its original
    #[arg(long, requires = "follow", help_heading = FOLLOWING, hide_short_help = true)]
    republish: bool,
    /// Copy the state of this time
    #[arg(long, value_parser = values::datetime, value_name = "DATETIME", conflicts_with = "follow",
        help_heading = VERSIONS, hide_short_help = true)]
    as_of: Option<resourcesync::DateTime>,
    /// Keep each version that is replaced or that the Source offers, in DIR/.instep/versions
    #[arg(long, help_heading = VERSIONS, hide_short_help = true)]
    all_versions: bool,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    channels: ChannelArgs,
}

const HINT: &str = "All options and examples: instep sync --help";

const EXAMPLES: &str = "\
Examples:
  instep sync https://example.org/ ./copy
  instep sync https://example.org/ ./copy --delete --max-delete 500
  instep sync https://example.org/ ./copy -n --include '*.pdf'
  instep sync https://example.org/resourcelist.xml --limit 10
  instep sync https://example.org/ ./copy --follow --on-change 'jq -r .uri | xargs -r reindex'
  instep sync https://example.org/ ./copy --delete --follow --republish --listen 127.0.0.1:8081
  instep sync https://example.org/ ./copy --follow --callback-url https://mirror.example.net/push/";

fn pair(text: &str) -> Result<(String, String), String> {
    let (uri, path) = text.split_once('=').ok_or_else(|| format!("{text:?} is not URI=PATH"))?;
    Ok((uri.to_owned(), path.to_owned()))
}

impl SyncCommand {
    /// Runs the command. With `--follow`, SIGHUP starts it again with the options that `reload` returns.
    pub(crate) fn run(
        self,
        config: &Config,
        reload: Reload<'_, (Self, Config)>,
        output: &Output,
    ) -> anyhow::Result<Exit> {
        let runtime = runtime::start()?;
        let shutdown = Shutdown::new();
        let ending = "transfers in flight are finished within 30 s and what arrived is saved";
        let signals = runtime::Signals::listen(&runtime, shutdown.clone(), *output, ending);
        let hangups = self.follow.then(|| Hangups::listen(&runtime));
        let (mut sync, mut config) = (self, config.clone());
        loop {
            let job = Job::new(sync, &config, shutdown.child())?;
            let ended =
                runtime.block_on(job.run(hangups.as_ref().map(|hangups| (hangups, reload)), output))?;
            match ended {
                Ended::Reloaded(next) => (sync, config) = *next,
                Ended::Interrupted => return Ok(signals.exit()),
                Ended::Done(exit) => return Ok(exit),
            }
        }
    }

    fn options(self, config: &Config) -> anyhow::Result<(SyncOptions, Option<Relay>)> {
        let url = values::url(&self.url).map_err(anyhow::Error::msg)?.into_string();
        let dir = self.dir.unwrap_or_else(|| folders::copy(&url));
        let mut options = SyncOptions::new(url, dir);
        options.dry_run = self.dry_run;
        options.delete = self.delete;
        options.max_delete = self.max_delete.unwrap_or_default();
        options.allow_empty = self.allow_empty;
        options.backup_dir = self.backup_dir;
        options.follow = self.follow;
        options.poll = self.poll.map_or(options.poll, |every| (every, every));
        options.repair = self.repair;
        options.adopt = self.adopt;
        options.into_existing = self.into_existing;
        options.add_source = self.add_source;
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
        options.selection = self.selection.options()?;
        options.access = self.access.options(config)?;
        if self.server.listen.is_some() && !self.republish {
            bail!("--listen serves the copy that is published again; add --follow --republish");
        }
        let relay =
            self.republish.then(|| Relay::new(&options.dir, self.server, self.channels)).transpose()?;
        Ok((options, relay))
    }
}

/// One run with one set of options.
struct Job {
    options: SyncOptions,
    relay: Option<Relay>,
    metrics_file: Option<PathBuf>,
    has_events_on_stdout: bool,
    /// The folder of the copy was not there before.
    is_new: bool,
}

/// The outcome of a run.
enum Ended {
    /// SIGHUP brought other options.
    Reloaded(Box<(SyncCommand, Config)>),
    /// A signal ended it.
    Interrupted,
    Done(Exit),
}

impl Job {
    fn new(sync: SyncCommand, config: &Config, shutdown: Shutdown) -> anyhow::Result<Self> {
        let has_events_on_stdout = sync.events.as_deref().is_some_and(|file| file.as_os_str() == "-");
        let metrics_file = sync.metrics_file.clone();
        let (mut options, relay) = sync.options(config)?;
        options.shutdown = shutdown;
        let is_new = !options.dir.exists();
        Ok(Self { options, relay, metrics_file, has_events_on_stdout, is_new })
    }

    async fn run(
        self,
        hangups: Option<(&Hangups, Reload<'_, (SyncCommand, Config)>)>,
        output: &Output,
    ) -> anyhow::Result<Ended> {
        let Self { options, relay, metrics_file, has_events_on_stdout, is_new } = self;
        let progress = Progress::new(*output, options.follow);
        let metrics = metrics_file.map(|file| MetricsMonitor::new(file, &options.dir, &progress));
        let monitor: &dyn Monitor = match &metrics {
            Some(metrics) => metrics,
            None => &progress,
        };
        let mut running = pin!(async {
            match relay {
                None => destination::sync(&options, monitor).await.map_err(Into::into),
                Some(relay) => relay.run(&options, monitor, output).await,
            }
        });
        let next = async {
            match hangups {
                Some((hangups, reload)) => runtime::reloaded(hangups, reload, output).await,
                None => std::future::pending().await,
            }
        };
        let (report, next) = tokio::select! {
            report = &mut running => (report, None),
            next = next => {
                options.shutdown.request();
                (running.await, Some(next))
            }
        };
        if let Some(metrics) = &metrics
            && let Err(error) = metrics.end(exit_code(&report))
        {
            output.note(format!("Cannot write the metrics file: {error}"));
        }
        progress.finish();
        if is_new && (report.is_err() || options.dry_run) {
            remove_empty_copy(&options.dir);
        }
        let report = report?;
        if let Some(next) = next {
            return Ok(Ended::Reloaded(Box::new(next)));
        }
        if has_events_on_stdout {
            output.note(closing(&report));
        } else {
            output.closing(closing(&report));
        }
        output.object("summary", summary(&options.url, &options.dir, &report));
        Ok(match report.outcome {
            Outcome::Interrupted => Ended::Interrupted,
            _ => Ended::Done(Exit::from_code(report.exit_code())),
        })
    }
}

/// Removes what a dry run, or a first run that failed, has left of a copy that was not there before, if no resource is in
/// it (D5).
fn remove_empty_copy(dir: &Path) {
    let is_empty = || -> io::Result<bool> {
        let mut names = fs::read_dir(dir)?.map(|item| Ok::<_, io::Error>(item?.file_name()));
        let only_state = names.all(|name| name.is_ok_and(|name| name == ".instep"));
        Ok(only_state && destination::status(dir).is_ok_and(|status| status.held == 0))
    };
    if is_empty().unwrap_or_default() {
        let _ = fs::remove_dir_all(dir.join(".instep"));
        let _ = fs::remove_dir(dir);
    }
}

/// Returns the exit code of a run that no signal ended.
fn exit_code(report: &anyhow::Result<SyncReport>) -> u8 {
    match report {
        Ok(report) => report.exit_code(),
        Err(error) => error.downcast_ref().map_or(Exit::Failed.code(), destination::Error::exit_code),
    }
}
