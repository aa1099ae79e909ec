//! A publication: scan, record, render, place, deliver, announce. [`Publisher::run`] owns that order; each of the
//! other modules implements one step and does not use the others.

mod announce;
mod backup;
mod context;
#[cfg(feature = "postgres")]
mod copies;
mod delivery;
mod dumps;
mod foreign;
mod in_place;
mod lock;
mod needed;
mod patches;
mod placing;
mod present_states;
mod published;
mod publisher;
mod rebase;
mod released;
mod remembered;
mod report;
mod sets;
#[cfg(feature = "postgres")]
mod sharing;
#[cfg(not(feature = "postgres"))]
#[path = "publish/no_sharing.rs"]
mod sharing;
#[cfg(all(feature = "serve", feature = "postgres"))]
mod standing_by;
mod upkeep;
mod version_place;
mod versions;
mod view;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::{
    Error, PublishMonitor, PublishOptions, PublishPhase, PublishProblem,
    catalogue::Snapshot,
    dump::{BuiltDumps, DumpJob},
    records::{PublishedSet, PublishedSource},
    render::{Now, Omissions, SetView, host_setup, render},
    scan::{ScanOptions, ScanReport, scan, scan_paths},
    sink::FolderSink,
};
pub(crate) use announce::{Announce, Unannounced};
pub use backup::{BackupReport, backup, is_published, restore};
#[cfg(feature = "serve")]
pub(crate) use context::SourceContext;
#[cfg(all(feature = "serve", feature = "postgres"))]
pub(crate) use copies::DocumentCopies;
use placing::Rendered;
#[cfg(feature = "serve")]
pub(crate) use published::published_set;
pub use publisher::Publisher;
pub use rebase::published_base_url;
pub use report::PublishReport;
#[cfg(all(feature = "serve", feature = "postgres"))]
pub(crate) use standing_by::HeldFolder;
#[cfg(feature = "serve")]
pub(crate) use upkeep::compact;
pub use upkeep::{Compaction, check, preview, setup};
#[cfg(feature = "serve")]
pub(crate) use version_place::VersionPlace;

/// Publishes once: scans the content, records changes, and writes the affected documents.
///
/// Blocks until everything is in place, durably. If nothing changed, nothing is written.
///
/// # Errors
/// If an option is invalid, the guard refuses deletions or another base URL, a file of others has the name of a document,
/// another publisher holds the Source, or disk, catalogue or object storage fail. A crash between any two steps is
/// repaired by the next call.
pub fn publish(options: &PublishOptions, monitor: &dyn PublishMonitor) -> Result<PublishReport, Error> {
    let mut options = options.clone();
    options.dumps.changes_every.get_or_insert(Duration::ZERO);
    let state = options.state.clone();
    let mut publisher = Publisher::open(options)?;
    publisher.report_hidden(monitor)?;
    let mut report = publisher.publish(monitor).map_err(|error| error.in_state(&state))?;
    report.kept_states = publisher.context.kept_states()?;
    if let Some(job) = publisher.dump_job(monitor)? {
        let built = job.build(monitor)?;
        report.skipped += built.unreadable;
        let placed = publisher.place_dumps(built, monitor)?;
        report.documents.extend(placed.documents);
        report.delivered += placed.delivered;
        report.elapsed += placed.elapsed;
    }
    Ok(report)
}

/// The part of the content that a publication scans.
pub(crate) enum ScanScope<'a> {
    /// All of it.
    Everything,
    /// Some files and folders.
    Paths(&'a [PathBuf]),
    /// Nothing: an application has recorded each change itself.
    Recorded,
    /// Nothing: packages were built, and the documents that list them are written.
    Dumps(Box<BuiltDumps>),
}

impl Publisher {
    /// Scans all content, and publishes what changed.
    ///
    /// # Errors
    /// As [`publish`].
    pub fn publish(&mut self, monitor: &dyn PublishMonitor) -> Result<PublishReport, Error> {
        self.run(ScanScope::Everything, &mut Unannounced, monitor)
    }

    /// Scans some files or folders only, and publishes what changed.
    ///
    /// # Errors
    /// As [`publish`].
    pub fn publish_paths(
        &mut self,
        paths: &[PathBuf],
        monitor: &dyn PublishMonitor,
    ) -> Result<PublishReport, Error> {
        self.run(ScanScope::Paths(paths), &mut Unannounced, monitor)
    }

    /// Publishes the changes recorded since the last time, without scanning: for an application that records each
    /// change itself. If nothing was published before, the recorded resources are the baseline.
    ///
    /// # Errors
    /// As [`publish`].
    pub fn publish_recorded(&mut self, monitor: &dyn PublishMonitor) -> Result<PublishReport, Error> {
        let sets = ScanOptions::new(self.options()).sets;
        if self.catalogue().snapshot()?.head().baselined & sets != sets {
            self.catalogue().complete_baseline(sets)?;
        }
        self.run(ScanScope::Recorded, &mut Unannounced, monitor)
    }

    /// Returns the Resource Dumps that are due, if any, and reports sets that can have none. Publications can run beside.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn dump_job(&self, monitor: &dyn PublishMonitor) -> Result<Option<DumpJob>, Error> {
        self.context.dump_job(&self.stop, monitor)
    }

    /// Puts packages in place, with the documents that lead to them.
    ///
    /// # Errors
    /// As [`publish`].
    pub fn place_dumps(
        &mut self,
        built: BuiltDumps,
        monitor: &dyn PublishMonitor,
    ) -> Result<PublishReport, Error> {
        self.run(ScanScope::Dumps(Box::new(built)), &mut Unannounced, monitor)
    }

    /// Runs one publication, step by step.
    ///
    /// Each step leaves a state from which the next run continues: recorded changes stay in the catalogue until they
    /// are rendered, and documents are staged until all of them are durable. The catalogue records which documents
    /// are being put in place and which ones object storage still lacks, so that an interruption is detected and
    /// repaired. Changes are announced last, so that every reader who follows the announcement finds the documents.
    pub(crate) fn run(
        &mut self,
        scope: ScanScope<'_>,
        announce: &mut dyn Announce,
        monitor: &dyn PublishMonitor,
    ) -> Result<PublishReport, Error> {
        let began = Instant::now();
        self.report_clock(monitor);
        self.catch_up()?;
        let scanned = self.scan(&scope, monitor)?;
        monitor.phase(PublishPhase::Write);
        let at = scanned.as_ref().map_or_else(|| self.catalogue().now(), |scanned| scanned.at);
        self.record_states(monitor)?;
        let snapshot = self.catalogue().snapshot()?;
        let head = snapshot.head();
        let now = Now::new(at, snapshot.at(), head.sequence, head.revision);
        let mut rendered = self.render(&snapshot, scope, now, monitor)?;
        let documents = self.place_documents(&mut rendered, now, monitor)?;
        self.context.release_packed(&snapshot, &rendered.before.published)?;
        let mut report = self.report(&snapshot, scanned.as_ref(), now)?;
        report.documents = documents;
        report.skipped += rendered.omitted;
        report.elapsed = began.elapsed();
        monitor_changes(&rendered.before.published, &snapshot, monitor)?;
        report.delivered = self.context.deliver(monitor)?;
        announce.announce(self, &report)?;
        self.unannounced.clear();
        Ok(report)
    }

    /// Warns once if the clock was far ahead in an earlier run: all later times come after those of that run (S6), so
    /// the Source stays ahead until the clock has caught up.
    fn report_clock(&mut self, monitor: &dyn PublishMonitor) {
        let Some(last) = self.catalogue().is_ahead_of_clock().filter(|_| !self.reported_clock) else {
            return;
        };
        self.reported_clock = true;
        let what = format!(
            "has a change of {last}, which is far ahead of the clock of this machine; new changes get times after it, and \
             copies may refuse them. Set the clock if it is wrong now. If it was wrong then, move the state and the \
             documents away and publish anew: copies compare themselves with the new Resource List"
        );
        monitor.problem(&PublishProblem::warning(self.options().state.display().to_string(), what));
    }

    /// Compares the content with the catalogue and records changes; `None` if nothing must be scanned.
    fn scan(&self, scope: &ScanScope<'_>, monitor: &dyn PublishMonitor) -> Result<Option<ScanReport>, Error> {
        let mut options = ScanOptions::new(self.options());
        options.stop = self.stop.clone();
        match scope {
            ScanScope::Everything => {
                let left_out = self.holdings().refresh_supplies(monitor, &|| self.stop.is_requested())?;
                let mut report = scan(self.holdings(), self.catalogue(), &options, monitor)?;
                report.skipped += left_out;
                Ok(Some(report))
            }
            ScanScope::Paths(paths) => {
                scan_paths(self.holdings(), self.catalogue(), paths, &options, monitor).map(Some)
            }
            ScanScope::Recorded | ScanScope::Dumps(_) => Ok(None),
        }
    }

    /// Records the consequences of the changes: states that later patches and versions need, patches, versions.
    fn record_states(&self, monitor: &dyn PublishMonitor) -> Result<(), Error> {
        let ends = || self.stop.is_requested();
        self.context.keep_present_states(monitor, &ends)?;
        self.context.make_patches(monitor, &ends)?;
        self.context.keep_versions()
    }

    /// Stages the documents that differ from those in place.
    fn render(
        &self,
        snapshot: &Snapshot,
        scope: ScanScope<'_>,
        now: Now,
        monitor: &dyn PublishMonitor,
    ) -> Result<Rendered, Error> {
        let mut before = self.context.before(snapshot)?;
        let mut sink = match scope {
            ScanScope::Dumps(built) => self.context.take_built(*built, &mut before),
            _ => FolderSink::new(self.context.out(), "lists", self.options().gzip_twins),
        };
        self.context.drop_unwanted_dumps(snapshot, &mut before)?;
        let ends = || self.stop.is_requested();
        let unread = self.context.pack_changes(snapshot, &mut before, now, &mut sink, monitor, &ends)?;
        let views = self.context.views(snapshot);
        let views: Vec<&dyn SetView> = views.iter().map(|view| view as &dyn SetView).collect();
        let mut archives = |set: &str| published::archive(snapshot, set);
        let mut omissions = Omissions::default();
        let policy = &self.context.policy;
        let next = render(policy, &views, &before, now, &mut archives, &mut omissions, &mut sink)?;
        for (uri, what) in omissions.named() {
            monitor.problem(&PublishProblem::skipped(uri, what));
        }
        Ok(Rendered { before, next, sink, omitted: omissions.count() + unread })
    }

    fn report(
        &self,
        snapshot: &Snapshot,
        scanned: Option<&ScanReport>,
        now: Now,
    ) -> Result<PublishReport, Error> {
        let mut report = PublishReport::new(now, self.place());
        for view in self.context.views(snapshot) {
            let totals = view.totals()?;
            report.resources += totals.resources;
            report.bytes += totals.bytes;
        }
        report.count(scanned);
        report.host = host_setup(&self.context.policy, &rebase::former_base_urls(snapshot)?);
        Ok(report)
    }
}

/// Passes the changes since the last publication to the monitor; none at the first one, which is the baseline.
fn monitor_changes(
    before: &PublishedSource,
    snapshot: &Snapshot,
    monitor: &dyn PublishMonitor,
) -> Result<(), Error> {
    let through = |set: &PublishedSet| Some(set.change_list.as_ref()?.through);
    let Some(announced) = before.sets.values().filter_map(through).max() else { return Ok(()) };
    for change in snapshot.changes(u64::MAX, announced) {
        let change = change?;
        monitor.change(&change.change, &change.uri);
    }
    Ok(())
}
