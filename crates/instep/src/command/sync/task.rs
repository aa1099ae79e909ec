//! One run of `instep sync` with one set of options: its displays, its metrics, and its end.

use std::{cell::Cell, path::PathBuf, pin::pin};

use instep_destination::{
    self as destination, CopyLocation, Monitor, Outcome, Shutdown, SyncOptions, SyncReport,
};
use tokio_util::sync::CancellationToken;

use super::{
    relay::Relay,
    summary::{closing, summary},
};
use crate::{
    exit::Exit,
    pages::{CopyMonitor, CopyServer},
    runtime::{self, Hangups, Reload, Signals},
    ui::{LineLevel, Output, format::counted, metrics::MetricsMonitor, progress::ProgressDisplay},
};

/// One run with one set of options.
pub(super) struct SyncTask {
    pub(super) options: SyncOptions,
    /// The address at which the pages of the copy are served; `None` for no pages.
    pub(super) pages: Option<String>,
    /// The Source of the copy; `None` without `--republish`.
    pub(super) relay: Option<Relay>,
    pub(super) metrics_file: Option<PathBuf>,
    /// `true` if events are written to standard output, so that the last line goes to standard error.
    pub(super) has_events_on_stdout: bool,
    /// `true` if the folder of the copy did not exist before.
    pub(super) is_new: bool,
}

/// The outcome of a run.
pub(super) enum Ended<N> {
    /// A SIGHUP came, and the command line and configuration gave other options: a new run begins with them.
    Reloaded(Box<N>),
    /// The run has ended, by itself or by a signal, with this exit code.
    Done(Exit),
}

impl SyncTask {
    /// Runs until the run is done, is interrupted, or has to begin again with the options of a SIGHUP. Sets
    /// `has_waited` to `true` if at least one round of following was complete.
    ///
    /// Errors: the failure that ended the run, or a listener that cannot be opened.
    pub(super) async fn run<N>(
        self,
        hangups: Option<(&Hangups, Reload<'_, N>)>,
        signals: &Signals,
        output: &Output,
        has_waited: &Cell<bool>,
    ) -> anyhow::Result<Ended<N>> {
        let Self { options, pages, relay, metrics_file, has_events_on_stdout, is_new } = self;
        let progress = ProgressDisplay::new(*output, options.follow);
        let metrics = metrics_file.map(|file| MetricsMonitor::new(file, &options.dir, &progress));
        let monitor: &dyn Monitor = match &metrics {
            Some(metrics) => metrics,
            None => &progress,
        };
        let watched = CopyMonitor::new(monitor);
        let watched = if options.dry_run { watched } else { watched.shared_in(&options.dir) };
        let server = match &pages {
            Some(address) => Some(CopyServer::listen(address, &options.dir, Some(&watched), output).await?),
            None => None,
        };
        let monitor: &dyn Monitor = &watched;
        let running = with_pages(server, async {
            match relay {
                None => destination::sync(&options, monitor).await.map_err(Into::into),
                Some(relay) => relay.run(&options, monitor, output).await,
            }
        });
        let (report, next) = until_reloaded(running, hangups, &options.shutdown, output).await;
        has_waited.set(progress.has_waited());
        if let Some(metrics) = &metrics {
            write_metrics(metrics, &report, output);
        }
        progress.finish();
        // A dry run, or a first run that failed, leaves nothing behind (P5).
        if is_new && (report.is_err() || options.dry_run) {
            CopyLocation::in_folder(&options.dir).discard_unused();
        }
        let report = report.map_err(|error| with_exit_code(error, signals))?;
        note_empty_selection(&options, &report, output);
        if let Some(next) = next {
            return Ok(Ended::Reloaded(Box::new(next)));
        }
        if has_events_on_stdout {
            output.note(closing(&report));
        } else {
            output.closing(closing(&report));
        }
        let exit = match report.outcome {
            Outcome::Interrupted => signals.exit(),
            _ => Exit::from(&report),
        };
        output.object("summary", summary(&options.url, &options.dir, &report, exit));
        Ok(Ended::Done(exit))
    }
}

/// Waits for a run to end. If a SIGHUP gives other options, the run is asked to end, and its result is returned with
/// these options.
async fn until_reloaded<N>(
    running: impl Future<Output = anyhow::Result<SyncReport>>,
    hangups: Option<(&Hangups, Reload<'_, N>)>,
    shutdown: &Shutdown,
    output: &Output,
) -> (anyhow::Result<SyncReport>, Option<N>) {
    let mut running = pin!(running);
    let next = async {
        match hangups {
            Some((hangups, reload)) => runtime::reloaded(hangups, reload, false, output).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        report = &mut running => (report, None),
        next = next => {
            shutdown.request();
            (running.await, Some(next))
        }
    }
}

/// Returns an error with the exit code of the signal that ended the run, if one did.
fn with_exit_code(error: anyhow::Error, signals: &Signals) -> anyhow::Error {
    match Exit::of(&error) {
        Exit::Interrupted => anyhow::Error::new(signals.exit()).context(error.to_string()),
        _ => error,
    }
}

/// Writes the metrics of a run that has ended. A failure is only reported, because metrics must not fail a run; also with
/// `--quiet`, because whoever watches the copy sees an old file.
fn write_metrics(metrics: &MetricsMonitor<'_>, report: &anyhow::Result<SyncReport>, output: &Output) {
    let exit = report.as_ref().map_or_else(Exit::of, Exit::from);
    if let Err(error) = metrics.end(exit.code()) {
        let file = metrics.file().display();
        output.log(LineLevel::Warn, &format!("Cannot write the metrics file {file}: {error}"));
    }
}

/// Reports that `--where-metadata` selected nothing (P8). The library reports it for the other filters, but knows
/// the result of this one only after the records were fetched.
fn note_empty_selection(options: &SyncOptions, report: &SyncReport, output: &Output) {
    let (read, excluded) = (report.entries.read, report.entries.excluded);
    if options.selection.where_metadata.is_some() && read > 0 && excluded == read && report.unchanged == 0 {
        let listed = counted(read, "resource");
        output.note(format!("{listed} listed, 0 selected: no metadata record matches"));
    }
}

/// Waits for a run and serves the pages of the copy meanwhile. The server ends with the run.
async fn with_pages(
    server: Option<CopyServer>,
    running: impl Future<Output = anyhow::Result<SyncReport>>,
) -> anyhow::Result<SyncReport> {
    let Some(server) = server else { return running.await };
    let ended = CancellationToken::new();
    let running = async {
        let report = running.await;
        ended.cancel();
        report
    };
    let (report, served) = tokio::join!(running, server.run(ended.cancelled()));
    served?;
    report
}
