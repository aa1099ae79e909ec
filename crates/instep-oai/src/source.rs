//! A repository as the content of a Source: its records are resources, with links to related ones.

mod background;
mod kept_problems;
mod links;

use std::{
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use instep_net::{Client, HttpError, HttpOptions};
use instep_source::{ChangeReporter, PublishMonitor, PublishProblem, ResourceState, Supplied, Supplier};
use instep_store::error_chain;
use resourcesync::{DateTime, Link, MediaType, Relation, Uri};

use background::{Background, begin_when_due};
use kept_problems::KeptProblems;
use links::{MOST_LINKS, siblings};

use crate::{
    HarvestOptions, RepositoryUrl,
    harvest::{
        Harvest, HarvestError, HarvestReport, HarvestStateView, HarvestedFile, HarvestedKind, Repository,
    },
};

/// A repository that a Source publishes.
///
/// The first harvest is made before the first publication. A Source that is served harvests in the background from
/// then on, and then publishes the changes.
#[derive(Debug)]
pub struct HarvestedRepository {
    shared: Arc<SharedRepository>,
}

struct SharedRepository {
    url: RepositoryUrl,
    folder: PathBuf,
    options: HarvestOptions,
    http: HttpOptions,
    view: Mutex<Option<HarvestStateView>>,
    reporter: OnceLock<ChangeReporter>,
    background: Arc<Background>,
    ends: AtomicBool,
}

impl HarvestedRepository {
    /// Returns a repository whose records are kept in a folder, which is made if it does not exist.
    ///
    /// # Errors
    /// If a network option cannot be used.
    pub fn new(
        url: RepositoryUrl,
        folder: impl Into<PathBuf>,
        options: HarvestOptions,
        http: HttpOptions,
    ) -> Result<Self, HttpError> {
        // Options that cannot be used are refused now, not with the first harvest.
        Client::new(http.clone())?;
        let shared = SharedRepository {
            url,
            folder: folder.into(),
            options,
            http,
            view: Mutex::default(),
            reporter: OnceLock::new(),
            background: Arc::default(),
            ends: AtomicBool::new(false),
        };
        Ok(Self { shared: Arc::new(shared) })
    }
}

impl Drop for HarvestedRepository {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
    }
}

impl SharedRepository {
    /// Harvests, and counts in a report: also the records that are held before an error.
    fn harvest(
        &self,
        monitor: &dyn PublishMonitor,
        ends: &dyn Fn() -> bool,
        report: &mut HarvestReport,
    ) -> Result<(), HarvestError> {
        let ends = || ends() || self.ends.load(Ordering::Relaxed);
        // Connections belong to the runtime that opened them, so each harvest has its own client.
        let client = Client::new(self.http.clone())?;
        let repository = Repository { url: self.url.clone(), client };
        let opened = Harvest::open(repository, &self.folder, &self.options, monitor, &ends)?;
        let Some(mut harvest) = opened else { return Ok(()) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ended = runtime.block_on(harvest.run());
        *report = harvest.report;
        ended
    }

    /// Harvests, and reports a failure as a problem if there is something to publish all the same.
    fn refresh(&self, monitor: &dyn PublishMonitor, ends: &dyn Fn() -> bool) -> io::Result<HarvestReport> {
        let mut report = HarvestReport::default();
        match self.harvest(monitor, ends, &mut report) {
            Ok(()) => Ok(report),
            Err(error) if self.is_complete()? => {
                let what = format!(
                    "{}; earlier records stay published, and the next harvest continues from there",
                    error.in_words()
                );
                monitor.problem(&PublishProblem::skipped(&self.url.base, what));
                report.lost += 1;
                Ok(report)
            }
            Err(error) => Err(error.of_repository(&self.url.base)),
        }
    }

    /// Requests the identity of the repository. Only a harvest shows the records that it has now.
    fn probe(&self, monitor: &dyn PublishMonitor) -> io::Result<u64> {
        let client = Client::new(self.http.clone()).map_err(io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let is_complete = self.is_complete()?;
        let what = match runtime.block_on(Harvest::probe(&self.url, client)) {
            Ok(()) if is_complete => return Ok(0),
            Ok(()) => "has not been harvested yet; only a publication does that".to_owned(),
            Err(error) if is_complete => error.in_words(),
            Err(error) => return Err(error.of_repository(&self.url.base)),
        };
        monitor.problem(&PublishProblem::skipped(&self.url.base, what));
        Ok(1)
    }

    fn is_complete(&self) -> io::Result<bool> {
        match &*self.view()? {
            Some(view) => view.is_complete(&self.url.formats).map_err(io::Error::other),
            None => Ok(false),
        }
    }

    /// Returns the state, which is opened as soon as there is one.
    fn view(&self) -> io::Result<MutexGuard<'_, Option<HarvestStateView>>> {
        let mut view = lock(&self.view);
        if view.is_none() {
            *view = HarvestStateView::open(&self.folder).map_err(io::Error::other)?;
        }
        Ok(view)
    }

    /// Harvests on a separate thread if it is time, and has everything scanned if that changed anything.
    fn harvest_beside(self: &Arc<Self>, reporter: &ChangeReporter) {
        let Some(begun) = self.background.begin(self.options.every) else { return };
        let (shared, reporter) = (Arc::clone(self), reporter.clone());
        thread::spawn(move || {
            let problems = KeptProblems::default();
            let report = shared.refresh(&problems, &|| false);
            drop(begun);
            problems.log();
            match report {
                Ok(report) if report.changed > 0 => reporter.everything(),
                Ok(_) => {}
                Err(error) => tracing::warn!("{}: {}", shared.url.base, error_chain(&error)),
            }
        });
    }

    fn supplied(
        &self,
        view: &HarvestStateView,
        harvested: &HarvestedFile,
        has_companions: bool,
    ) -> rusqlite::Result<Supplied> {
        let mut state = ResourceState::new();
        state.length = harvested.length;
        state.digests = harvested.digests.clone();
        state.media_type = harvested.media_type.as_deref().map(MediaType::new);
        state.links = self.links(harvested);
        let most = MOST_LINKS.saturating_sub(state.links.len());
        let mut supplied = Supplied::new(harvested.path.as_str(), state);
        if has_companions {
            supplied.siblings = siblings(harvested, &view.companions(harvested)?, most);
        }
        Ok(supplied)
    }

    /// Returns the links of a resource to the repository: the record or file there, and the sets.
    fn links(&self, harvested: &HarvestedFile) -> Vec<Link> {
        let record = [("identifier", harvested.identifier.as_str()), ("metadataPrefix", &harvested.format)];
        let via = match (&harvested.url, harvested.kind) {
            (Some(url), _) => url.clone(),
            (None, _) => self.url.request("GetRecord", &record),
        };
        let mut links = Vec::with_capacity(1 + harvested.sets.len());
        if let Ok(via) = Uri::parse(&via) {
            let mut link = Link::new(Relation::Via, via);
            // A repository that knows only days does not state a complete time, which a document should have (ATT-23).
            link.modified = DateTime::parse(&harvested.datestamp).ok().filter(DateTime::is_complete_utc);
            links.push(link);
        }
        if harvested.kind == HarvestedKind::Record {
            for set in &harvested.sets {
                let url =
                    self.url.request("ListRecords", &[("metadataPrefix", &harvested.format), ("set", set)]);
                links.extend(Uri::parse(&url).ok().map(|url| Link::new(Relation::Collection, url)));
            }
        }
        links
    }
}

impl Supplier for HarvestedRepository {
    fn folder(&self) -> &Path {
        &self.shared.folder
    }

    fn refresh(&self, monitor: &dyn PublishMonitor, ends: &dyn Fn() -> bool) -> io::Result<u64> {
        match self.shared.reporter.get() {
            Some(reporter) if self.shared.is_complete()? => {
                self.shared.harvest_beside(reporter);
                Ok(0)
            }
            _ => {
                let report = self.shared.refresh(monitor, ends)?;
                self.shared.background.wait(self.shared.options.every);
                Ok(report.lost)
            }
        }
    }

    fn probe(&self, monitor: &dyn PublishMonitor) -> io::Result<u64> {
        self.shared.probe(monitor)
    }

    fn each(&self, take: &mut dyn FnMut(Supplied) -> ControlFlow<()>) -> io::Result<()> {
        let Some(view) = HarvestStateView::open(&self.shared.folder).map_err(io::Error::other)? else {
            return Ok(());
        };
        let companions = HarvestStateView::open(&self.shared.folder).map_err(io::Error::other)?;
        let companions = companions.as_ref().unwrap_or(&view);
        let has_companions = view.has_companions().map_err(io::Error::other)?;
        let listed = view.each(&mut |harvested| {
            Ok(take(self.shared.supplied(companions, &harvested, has_companions)?).is_continue())
        });
        listed.map_err(io::Error::other)
    }

    fn at(&self, path: &[u8]) -> io::Result<Option<Supplied>> {
        let Ok(path) = std::str::from_utf8(path) else { return Ok(None) };
        let view = self.shared.view()?;
        let Some(view) = &*view else { return Ok(None) };
        let found = view.at(path).map_err(io::Error::other)?;
        found
            .map(|harvested| self.shared.supplied(view, &harvested, true))
            .transpose()
            .map_err(io::Error::other)
    }

    fn watch(&self, changes: ChangeReporter) {
        // Set once: a repository is published by one Source.
        if self.shared.reporter.set(changes.clone()).is_ok() {
            let shared = Arc::downgrade(&self.shared);
            begin_when_due(Arc::downgrade(&self.shared.background), move || {
                if let Some(shared) = shared.upgrade() {
                    shared.harvest_beside(&changes);
                }
            });
        }
    }
}

impl std::fmt::Debug for SharedRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedRepository").field("url", &self.url).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
