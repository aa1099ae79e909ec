//! The story: scan, record, render, write, announce.

mod dumps;
mod lock;
mod patches;
mod published;
mod remembered;
mod report;
mod sets;
mod states;
mod upkeep;
mod versions;
mod view;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    Error, Monitor, Phase, PublishOptions,
    catalogue::{Catalogue, Clock, Snapshot, system_clock},
    content::{Holdings, Spool},
    dump::{BatchLimits, Batches, BuiltDumps},
    render::{Before, Now, Place, Policy, PublishedSet, PublishedSource, SetView, host_setup, render},
    scan::{ScanOptions, ScanReport, scan, scan_paths},
    sink::{FolderSink, Sink},
};
use lock::Lock;
pub(crate) use published::published_set;
pub use report::PublishReport;
pub(crate) use upkeep::compact;
pub use upkeep::{Compaction, check, preview};
pub(crate) use versions::{MEMENTO, TIMEGATE, TIMEMAP, VersionPlace};
use view::CatalogueView;

/// The catalogue, in the folder of the state.
const CATALOGUE: &str = "catalogue.db";

/// Publishes once: looks at the content, records what changed, and writes the documents that change with it.
///
/// Blocks until everything is in place, durably. Nothing changed: nothing is written.
///
/// # Errors
/// When an option cannot be followed, another publisher is at work, or disk or catalogue fail. A crash between any
/// two steps is repaired by the next call.
pub fn publish(options: &PublishOptions, monitor: &dyn Monitor) -> Result<PublishReport, Error> {
    let mut options = options.clone();
    options.dumps.changes_every.get_or_insert(Duration::ZERO);
    let mut publisher = Publisher::open(options)?;
    let mut report = publisher.publish(monitor)?;
    report.kept_states = publisher.kept_states()?;
    if let Some(job) = publisher.dump_job()? {
        let placed = publisher.place_dumps(job.build(monitor)?, monitor)?;
        report.documents.extend(placed.documents);
        report.elapsed += placed.elapsed;
    }
    Ok(report)
}

/// A Source that stays open between publications; it holds the Source's lock.
#[derive(Debug)]
pub struct Publisher {
    options: PublishOptions,
    policy: Policy,
    catalogue: Catalogue,
    holdings: Holdings,
    _lock: Lock,
}

impl Publisher {
    /// Takes the lock and opens the catalogue.
    ///
    /// # Errors
    /// When an option cannot be followed, another publisher holds the lock, or the catalogue cannot be opened.
    pub fn open(options: PublishOptions) -> Result<Self, Error> {
        Self::with_clock(options, system_clock())
    }

    /// The same with a clock of the caller's.
    ///
    /// # Errors
    /// As [`Publisher::open`].
    pub fn with_clock(mut options: PublishOptions, clock: Clock) -> Result<Self, Error> {
        options.keep_states |=
            options.dumps.changes || options.patches.is_some() || options.versions.is_some();
        Policy::new(&options)?;
        let lock = Lock::take(&options.state)?;
        let catalogue = Catalogue::with_clock(&options.state.join(CATALOGUE), clock)?;
        sets::number(&mut options.sets, &catalogue)?;
        let publisher = Self::over(options, catalogue, lock)?;
        remembered::keep(&publisher.options, &publisher.catalogue)?;
        Ok(publisher)
    }

    /// Takes the lock of a Source that was opened before, with the content it had then: to record what an application
    /// says, or to look after the catalogue. Publishing goes by what the operator decides now, so not by this.
    ///
    /// # Errors
    /// When nothing has been published with this state; else as [`Publisher::open`].
    pub fn reopen(state: &Path) -> Result<Self, Error> {
        let unknown = || remembered::unknown(state);
        let file = state.join(CATALOGUE);
        if !file.exists() {
            return Err(unknown());
        }
        let lock = Lock::take(state)?;
        let catalogue = Catalogue::open(&file)?;
        let options = remembered::load(&catalogue.snapshot()?, state)?.ok_or_else(unknown)?;
        Self::over(options, catalogue, lock)
    }

    fn over(options: PublishOptions, catalogue: Catalogue, lock: Lock) -> Result<Self, Error> {
        let policy = Policy::new(&options)?;
        let holdings = Holdings::new(&options, &catalogue)?;
        if let Some(spool) = Spool::of(&options) {
            spool.open().map_err(Error::write(spool.folder()))?;
        }
        Ok(Self { options, policy, catalogue, holdings, _lock: lock })
    }

    /// What the operator decided.
    pub fn options(&self) -> &PublishOptions {
        &self.options
    }

    /// The URIs of the documents.
    pub fn place(&self) -> &Place {
        &self.policy.place
    }

    /// What the Source knows.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Where the bitstreams are.
    pub fn holdings(&self) -> &Holdings {
        &self.holdings
    }

    /// What builds batches of resources, beside this Source.
    pub fn batches(&self) -> Batches {
        Batches {
            policy: self.policy.clone(),
            catalogue: self.catalogue.clone(),
            holdings: self.holdings.clone(),
            limits: BatchLimits::default(),
        }
    }

    /// The names of the sets that were published and are not wanted any more: the next publication withdraws them.
    pub(crate) fn unwanted_sets(&self) -> Result<Vec<String>, Error> {
        let mut sets = published::sets(&self.catalogue.snapshot()?)?;
        sets.retain(|name| self.options.sets.iter().all(|set| set.name != *name));
        Ok(sets)
    }

    /// Looks at all content, and publishes what changed.
    ///
    /// # Errors
    /// As [`publish`].
    pub fn publish(&mut self, monitor: &dyn Monitor) -> Result<PublishReport, Error> {
        let began = Instant::now();
        let scanned = scan(&self.holdings, &self.catalogue, &ScanOptions::new(&self.options), monitor)?;
        self.write(Some(&scanned), None, began, monitor)
    }

    /// Looks at some files or folders only, and publishes what changed.
    ///
    /// # Errors
    /// As [`publish`].
    pub fn publish_paths(
        &mut self,
        paths: &[PathBuf],
        monitor: &dyn Monitor,
    ) -> Result<PublishReport, Error> {
        let began = Instant::now();
        let options = ScanOptions::new(&self.options);
        let scanned = scan_paths(&self.holdings, &self.catalogue, paths, &options, monitor)?;
        self.write(Some(&scanned), None, began, monitor)
    }

    /// Publishes what was recorded since the last time, without looking at content: for an application that records
    /// each change itself. Where nothing was published before, what it has recorded is the baseline.
    ///
    /// # Errors
    /// As [`publish`].
    pub fn publish_recorded(&mut self, monitor: &dyn Monitor) -> Result<PublishReport, Error> {
        let sets = ScanOptions::new(&self.options).sets;
        if self.catalogue.snapshot()?.head().baselined & sets != sets {
            self.catalogue.complete_baseline(sets)?;
        }
        self.write(None, None, Instant::now(), monitor)
    }

    /// Writes the documents of what the catalogue holds, and puts them in place.
    fn write(
        &self,
        scanned: Option<&ScanReport>,
        built: Option<BuiltDumps>,
        began: Instant,
        monitor: &dyn Monitor,
    ) -> Result<PublishReport, Error> {
        monitor.phase(Phase::Write);
        let at = scanned.map_or_else(|| self.catalogue.now(), |scanned| scanned.at);
        self.keep_present_states(monitor)?;
        self.make_patches(monitor)?;
        self.keep_versions()?;
        let snapshot = self.catalogue.snapshot()?;
        let head = snapshot.head();
        let now = Now::new(at, snapshot.at(), head.sequence, head.revision);
        let mut before = published::load(&snapshot)?;
        let mut sink = match built {
            Some(built) => self.take_built(built, &mut before),
            None => FolderSink::new(&self.options.out, "lists", self.options.gzip_twins),
        };
        for set in self.unwanted_dumps(&snapshot)? {
            before.published.sets.entry(set).or_default().resource_dump = None;
        }
        self.pack_changes(&snapshot, &mut before, now, &mut sink, monitor)?;
        let views = self.views(&snapshot);
        let views: Vec<&dyn SetView> = views.iter().map(|view| view as &dyn SetView).collect();
        let mut archives = |set: &str| published::archive(&snapshot, set);
        let next = render(&self.policy, &views, &before, now, &mut archives, &mut sink)?;

        let first_offered = patches::first_offered(&next);
        let documents = self.place_documents(&before, next, now, &mut sink, monitor)?;
        if !documents.is_empty() {
            self.drop_patches(first_offered)?;
        }
        tell_changes(&before.published, &snapshot, monitor)?;
        let mut report = PublishReport::new(now.at, self.place());
        for view in views {
            let totals = view.totals()?;
            report.resources += totals.resources;
            report.bytes += totals.bytes;
        }
        report.count(scanned);
        report.documents = documents;
        report.completed = now.completed;
        report.host = host_setup(&self.policy);
        report.elapsed = began.elapsed();
        Ok(report)
    }

    /// Puts documents in place; the catalogue knows before and after, so that an interruption is noticed.
    fn place_documents(
        &self,
        before: &Before,
        mut next: PublishedSource,
        now: Now,
        sink: &mut FolderSink,
        monitor: &dyn Monitor,
    ) -> Result<Vec<String>, Error> {
        let expired = next.expire(self.options.lists.grace, now.at);
        if next == before.published && !before.repair && sink.is_empty() {
            return Ok(Vec::new());
        }
        monitor.phase(Phase::Commit);
        published::begin(&self.catalogue, &next)?;
        let placed = sink.commit(&expired)?;
        // Who tells of this publication still reads what it added: so much was needed before it.
        let needed = upkeep::needed_after(&before.published).unwrap_or(0);
        published::complete(&self.catalogue, next, needed)?;
        placed.iter().for_each(|(name, bytes)| monitor.document(name, *bytes));
        Ok(placed.into_iter().map(|(name, _)| name).collect())
    }

    fn views<'a>(&'a self, snapshot: &'a Snapshot) -> Vec<CatalogueView<'a>> {
        (0u8..)
            .zip(&self.policy.sets)
            .map(|(set, _)| CatalogueView {
                snapshot,
                holdings: &self.holdings,
                base: self.place().base(),
                versions: self.options.versions.map(|_| VersionPlace::new(self.place().base())),
                set,
            })
            .collect()
    }
}

/// Tells, once they are published, the changes since the last publication.
fn tell_changes(before: &PublishedSource, snapshot: &Snapshot, monitor: &dyn Monitor) -> Result<(), Error> {
    let through = |set: &PublishedSet| Some(set.change_list.as_ref()?.through);
    let Some(told) = before.sets.values().filter_map(through).max() else { return Ok(()) };
    for change in snapshot.changes(u64::MAX, told) {
        let change = change?;
        monitor.change(&change.change, &change.uri);
    }
    Ok(())
}
