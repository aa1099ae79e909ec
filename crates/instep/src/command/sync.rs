//! `instep sync`: makes or updates a copy.

mod archive;
mod relay;
mod summary;
mod task;

use std::{cell::Cell, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, bail};
use clap::{Args, builder::NonEmptyStringValueParser};
use instep_destination::{
    AccessOptions, ChangeSink, CopyPlace, Durability, LastmodTrust, MaxDelete, Shutdown, SyncOptions, Verify,
    Via,
};

use crate::{
    args::{
        access::AccessArgs,
        callbacks::CallbackArgs,
        channels::ChannelArgs,
        folders,
        headings::{CHECKING, DELETING, FOLLOWING, KEEPING, OUTPUT, SPEED, VERSIONS, WHAT_TO_COPY},
        piped::text_of,
        selection::SelectionArgs,
        server::ServerArgs,
        source_url::source_url,
        values,
    },
    config::Config,
    exit::Exit,
    runtime::{self, Hangups, Reload},
    service,
    ui::{
        Output,
        changes::{Events, Webhook, end_of_receivers},
    },
};
use archive::archive;
use relay::Relay;
use task::{Ended, SyncTask};

/// Make or update a copy of a Source
///
/// The URL may be a site, a page, a Source Description, a Capability List, any list or index, or a plain Sitemap. The
/// first run copies everything. Later runs apply the changes since, or compare the lists if the changes do not reach
/// back far enough. Nothing is deleted without --delete, and never more than --max-delete in one run.
///
/// The last line counts resources: + new, ~ changed, - deleted, = compared and the same.
#[derive(Clone, Debug, Args)]
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
    /// Delete resources that the Source deleted
    #[arg(long, help_heading = DELETING)]
    delete: bool,
    /// Most deletions in a run, and in a day of runs, as 500 or 10% [default: 10%, at least 10]
    #[arg(long, value_name = "LIMIT", help_heading = DELETING)]
    max_delete: Option<MaxDelete>,
    /// Let an empty list empty the copy
    #[arg(long, help_heading = DELETING, hide_short_help = true)]
    allow_empty: bool,
    /// Keep replaced and deleted files in this folder, the last one of each path
    #[arg(long, value_parser = values::path, value_name = "DIR", help_heading = DELETING, hide_short_help = true)]
    backup_dir: Option<PathBuf>,
    #[command(flatten)]
    access: AccessArgs,
    /// Way to synchronize: auto, list, dump, batch or changes
    #[arg(long, default_value = "auto", value_name = "WAY", help_heading = SPEED, hide_short_help = true)]
    via: Via,
    /// Stop after this time; transferred files are kept
    #[arg(long, value_parser = values::duration, value_name = "DURATION", help_heading = SPEED, hide_short_help = true)]
    max_duration: Option<Duration>,
    /// Stop after this many bytes; transferred files are kept
    #[arg(long, value_parser = values::size, value_name = "SIZE", help_heading = SPEED, hide_short_help = true)]
    max_transfer: Option<u64>,
    /// Append a JSON line per change of the copy to this file; - for stdout
    #[arg(long, value_name = "FILE", conflicts_with = "on_change", help_heading = OUTPUT)]
    events: Option<PathBuf>,
    /// Run this shell command after each commit, with such lines as its input
    #[arg(long, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new(), help_heading = OUTPUT,
        hide_short_help = true)]
    on_change: Option<String>,
    /// Send the changes of each commit to this URL, signed as Standard Webhooks
    #[arg(long, value_name = "URL", conflicts_with_all = ["on_change", "events"], requires = "webhook_secret_file",
        help_heading = OUTPUT, hide_short_help = true)]
    webhook: Option<String>,
    /// File with the secret that signs webhooks: whsec_ and Base64
    #[arg(long, value_name = "FILE", requires = "webhook", help_heading = OUTPUT, hide_short_help = true)]
    webhook_secret_file: Option<PathBuf>,
    /// Also store fetched resources as WARC files in this folder, with CDXJ indexes
    #[arg(long, value_parser = values::path, value_name = "DIR", help_heading = OUTPUT, hide_short_help = true)]
    warc: Option<PathBuf>,
    /// Begin the next WARC file at this size
    #[arg(long, default_value = "1GiB", value_parser = values::size, value_name = "SIZE", requires = "warc",
        help_heading = OUTPUT, hide_short_help = true)]
    warc_size: u64,
    /// Write metrics of the copy to this file in the Prometheus text format
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, hide_short_help = true)]
    metrics_file: Option<PathBuf>,
    /// Put a new copy into a folder that has files; none of them is overwritten
    #[arg(long, help_heading = KEEPING, hide_short_help = true)]
    into_existing: bool,
    /// Add another Source to the copy
    #[arg(long, help_heading = KEEPING, hide_short_help = true)]
    add_source: bool,
    /// Put resources below a URI at a path of the copy
    #[arg(long, value_name = "URI=PATH", value_parser = values::mapping, help_heading = KEEPING, hide_short_help = true)]
    map: Vec<(String, String)>,
    /// Keep the bytes in object storage, s3://bucket/prefix, and only the state in DIR; add ?layout=names for one object per resource
    #[arg(long, value_name = "URL", help_heading = KEEPING, hide_short_help = true)]
    store: Option<CopyPlace>,
    /// Keep the state of the copy in PostgreSQL: postgres://USER@HOST/DATABASE [default: where it is; a new one in the folder]
    #[arg(long, value_name = "URL", help_heading = KEEPING, hide_short_help = true)]
    state: Option<String>,
    /// Sync files to the disk by group, by file, or not at all: group, file or none
    #[arg(long, default_value = "group", value_name = "HOW", help_heading = KEEPING, hide_short_help = true)]
    durability: Durability,
    /// Hash the files of the copy and fetch damaged ones again
    #[arg(long, visible_alias = "checksum", help_heading = CHECKING, hide_short_help = true)]
    repair: bool,
    /// Keep existing correct files instead of fetching them
    #[arg(long, help_heading = CHECKING, hide_short_help = true)]
    adopt: bool,
    /// Digests to verify: strongest or all
    #[arg(long, default_value = "strongest", value_name = "WHICH", help_heading = CHECKING, hide_short_help = true)]
    verify: Verify,
    /// lastmod without a digest: trust it, or ask the server about each resource
    #[arg(long, default_value = "trust", value_name = "HOW", help_heading = CHECKING, hide_short_help = true)]
    lastmod: LastmodTrust,
    /// Refuse a Source whose newest time is older
    #[arg(long, value_parser = values::duration, value_name = "DURATION", help_heading = CHECKING, hide_short_help = true)]
    max_age: Option<Duration>,
    /// With --follow: time between two rounds [default: 1s to 5m, by how often the Source changes]
    #[arg(long, value_parser = values::pause, value_name = "DURATION", requires = "follow",
        help_heading = FOLLOWING, hide_short_help = true)]
    poll: Option<Duration>,
    #[command(flatten)]
    callbacks: CallbackArgs,
    /// With --follow: publish the copy again, each resource with a link to its original
    #[arg(long, requires = "follow", help_heading = FOLLOWING, hide_short_help = true)]
    republish: bool,
    /// Take the state of this time
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
  instep sync https://example.org/ ./copy --follow --on-change 'jq .uri | xargs -r reindex'
  instep sync https://example.org/ ./copy --delete --follow --republish --listen 127.0.0.1:8081
  instep sync https://example.org/ ./state --store s3://bucket/prefix
  instep sync https://example.org/ ./copy --follow --callback-url https://mirror.example.net/push/";

/// Returns the receiver of webhooks, if one is named.
fn webhook(
    url: Option<String>,
    secret: Option<PathBuf>,
    access: &AccessOptions,
) -> anyhow::Result<Option<Webhook>> {
    let (Some(url), Some(file)) = (url, secret) else { return Ok(None) };
    let secret = text_of(&file).with_context(|| format!("Cannot read {}", file.display()))?;
    Ok(Some(Webhook::new(&url, &secret, access)?))
}

impl SyncCommand {
    /// Runs the command. With `--follow`, SIGHUP starts it again with the options that `reload` returns; if their
    /// first round fails, with the former ones.
    pub(crate) fn run(
        self,
        config: &Config,
        reload: Reload<'_, (Self, Config)>,
        output: &Output,
    ) -> anyhow::Result<Exit> {
        let runtime = runtime::start()?;
        let shutdown = Shutdown::new();
        let ending = "what has arrived is saved, and the next run continues";
        let signals = runtime::Signals::listen(&runtime, shutdown.clone(), *output, ending);
        let hangups = self.follow.then(|| Hangups::listen(&runtime));
        let (mut options, mut former) = ((self, config.clone()), None);
        loop {
            let (sync, config) = options.clone();
            let has_waited = Cell::new(false);
            let ended = sync.task(&config, shutdown.child()).and_then(|task| {
                let hangups = hangups.as_ref().map(|hangups| (hangups, reload));
                runtime.block_on(service::watched(task.run(hangups, &signals, output, &has_waited)))
            });
            match (ended, former.take()) {
                (Ok(Ended::Reloaded(next)), working) => {
                    // If new options fail, the last ones that completed a round are used again.
                    former = if has_waited.get() { Some(options) } else { working };
                    options = *next;
                }
                (Ok(Ended::Done(exit)), _) => return Ok(exit),
                (Err(error), Some(working)) if !has_waited.get() => {
                    if let Some(hangups) = &hangups {
                        runtime::restored(hangups, &error, output);
                    }
                    options = working;
                }
                (Err(error), _) => return Err(error),
            }
        }
    }

    /// Returns one run of it.
    fn task(self, config: &Config, shutdown: Shutdown) -> anyhow::Result<SyncTask> {
        let has_events_on_stdout = self.events.as_deref().is_some_and(|file| file.as_os_str() == "-");
        // A dry run is no run of the copy: its success would hide that the real ones fail.
        let metrics_file = self.metrics_file.clone().filter(|_| !self.dry_run);
        // A copy that is published again has the pages of a Source at this address.
        let pages = self.server.listen.clone().filter(|_| !self.republish);
        let (options, relay) = self.options(config, shutdown)?;
        let is_new = !options.dir.exists();
        Ok(SyncTask { options, pages, relay, metrics_file, has_events_on_stdout, is_new })
    }

    fn options(self, config: &Config, shutdown: Shutdown) -> anyhow::Result<(SyncOptions, Option<Relay>)> {
        let url = source_url(&self.url)?.into_string();
        let dir = self.dir.unwrap_or_else(|| folders::copy(&url));
        let mut options = SyncOptions::new(url, dir);
        if self.republish && self.store.is_some() {
            bail!("A copy in object storage cannot be published again; export it first with instep export");
        }
        options.store = self.store;
        options.state = self.state;
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
        options.lastmod = self.lastmod;
        options.as_of = self.as_of;
        options.all_versions = self.all_versions;
        options.maps = self.map;
        options.durability = self.durability;
        options.max_duration = self.max_duration;
        options.max_transfer = self.max_transfer;
        options.max_age = self.max_age;
        options.access = self.access.options(config)?;
        let end = end_of_receivers(&shutdown, self.max_duration);
        let webhook = webhook(self.webhook, self.webhook_secret_file, &options.access)?;
        let webhook = webhook.map(|webhook| Events::Webhook(Box::new(webhook), end.clone()));
        let on_change = self.on_change.map(|command| Events::Command(command, end.clone()));
        let events = self.events.map(|file| Events::to(file, end)).transpose()?;
        let receiver = events.or(on_change).or(webhook);
        options.shutdown = shutdown;
        options.changes = receiver.map(|receiver| Arc::new(receiver) as Arc<dyn ChangeSink>);
        options.archive = self.warc.map(|dir| archive(dir, self.warc_size)).transpose()?;
        options.callbacks = self.callbacks.options();
        if options.callbacks.is_some() && !self.follow {
            bail!("--callback-url is where hubs deliver while a copy is followed; add --follow");
        }
        options.selection = self.selection.options()?;
        if self.server.listen.is_some() && !self.follow {
            bail!(
                "--listen shows a copy that is followed, or serves it again with --republish; add --follow"
            );
        }
        let is_published = self.republish && !self.dry_run;
        let relay = is_published.then(|| Relay::new(&options.dir, self.server, self.channels)).transpose()?;
        Ok((options, relay))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::OsStr,
        io::Write as _,
        os::fd::IntoRawFd as _,
        path::Path,
        process::{self, Stdio},
    };

    use clap::Parser;

    use super::*;

    /// A command line of `sync` alone.
    #[derive(Parser)]
    struct SyncLine {
        #[command(flatten)]
        sync: SyncCommand,
    }

    /// Returns the run of a command line for a copy in a folder.
    fn task(dir: &Path, options: &[&str]) -> SyncTask {
        let words = ["sync", "http://127.0.0.1:9/"].into_iter().map(OsStr::new).chain([dir.as_os_str()]);
        let line = SyncLine::try_parse_from(words.chain(options.iter().map(OsStr::new))).unwrap();
        line.sync.task(&Config::default(), Shutdown::new()).unwrap()
    }

    #[test]
    fn o553_a_dry_run_publishes_nothing_and_makes_no_folder() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("copy");
        assert!(task(&dir, &["--follow", "--republish", "--dry-run"]).relay.is_none());
        assert!(!dir.exists());
        assert!(task(&dir, &["--follow", "--republish"]).relay.is_some());
    }

    #[test]
    fn o554_a_dry_run_writes_no_metrics() {
        let place = tempfile::tempdir().unwrap();
        assert!(task(place.path(), &["--metrics-file", "m.prom", "--dry-run"]).metrics_file.is_none());
        assert!(task(place.path(), &["--metrics-file", "m.prom"]).metrics_file.is_some());
    }

    #[test]
    fn o1111_the_example_of_a_receiver_takes_every_uri() {
        let (_, rest) = EXAMPLES.split_once("--on-change '").unwrap();
        let (command, _) = rest.split_once('\'').unwrap();
        // jq then writes each URI in double quotes, in which xargs takes an apostrophe as it is.
        let receiver = command.strip_prefix("jq .uri | ").unwrap().replace("reindex", "printf '%s\\n'");
        let mut shell = process::Command::new("sh");
        let shell = shell.args(["-c", &receiver]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        shell.stdin.take().unwrap().write_all(b"\"http://h/it's\"\n\"http://h/$(id);b\"\n").unwrap();
        let output = shell.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(String::from_utf8_lossy(&output.stdout), "http://h/it's\nhttp://h/$(id);b\n");
    }

    #[test]
    fn o605_the_secret_of_a_webhook_that_came_from_a_pipe_stays_when_the_options_are_read_again() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
        drop(writer);
        // Stays open, so that no other test of this process has the number.
        let number = reader.into_raw_fd();
        for _ in 0..2 {
            let file = PathBuf::from(format!("/dev/fd/{number}"));
            let url = "https://example.org/".to_owned();
            assert!(webhook(Some(url), Some(file), &AccessOptions::default()).unwrap().is_some());
        }
    }
}
