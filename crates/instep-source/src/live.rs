//! Keeps a Source current: watches the content, waits until changes settle, publishes them, on a thread of its own.

mod dumps;
mod message;
mod settle;
mod suppliers;
mod watch;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use instep_store::error_chain;
use tokio::sync::watch as state;

use crate::{
    Error, ErrorKind, PublishMonitor, PublishProblem, PublishReport, Publisher,
    publish::{Announce, ScanScope},
    scan::ScanStop,
    status::{self, Overview},
};
use dumps::Dumps;
use message::LiveMessage;
pub(crate) use message::PublicationRequests;
use settle::{DueScan, Settle, Touch};
use watch::Watches;

/// Messages that may wait; when there are more, everything is looked at instead.
const BACKLOG: usize = 16_384;
/// The delay after a failed publication before the next attempt.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// The interval of complete scans while folders are left that cannot be watched.
const WITHOUT_WATCHES: Duration = Duration::from_secs(30);

/// Options for keeping a Source current.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LiveOptions {
    /// Watches the content for changes; without it, scans alone find them.
    pub watch: bool,
    /// The interval of complete scans, watched or not; 10 min. A watch can lose events, a scan finds what they were.
    pub scan_every: Duration,
    /// The least time between the begins of two publications; the first change after it is published at once. 500 ms,
    /// so that each change is announced within a second.
    pub interval: Duration,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self { watch: true, scan_every: Duration::from_secs(600), interval: Duration::from_millis(500) }
    }
}

/// A Source that publishes what changes. Dropping it ends that.
#[derive(Debug)]
pub(crate) struct Live {
    messages: mpsc::SyncSender<LiveMessage>,
    overview: state::Receiver<Arc<Overview>>,
    stop: ScanStop,
    thread: Option<thread::JoinHandle<()>>,
}

impl Live {
    /// Watches the content, then publishes all of it; blocks until the documents are complete.
    ///
    /// # Errors
    /// If the first publication fails. What fails later goes to the monitor and is tried again.
    pub(crate) fn start(
        mut publisher: Publisher,
        options: LiveOptions,
        (channels, overview): (Box<dyn Announce + Send>, state::Sender<Arc<Overview>>),
        monitor: Arc<dyn PublishMonitor>,
    ) -> Result<Self, Error> {
        let (sender, receiver) = mpsc::sync_channel(BACKLOG);
        let watches = watch(&publisher, &options, &sender, &*monitor);
        suppliers::watch_suppliers(&publisher, &sender);
        let overview_seen = overview.subscribe();
        let unwatched = watches.unwatched().len();
        let mut announcements = Announcements { overview, channels, unwatched, refusal: None };
        let first = publisher.run(ScanScope::Everything, &mut announcements, &*monitor)?;
        monitor.published(first.resources, first.bytes);
        let scan_every = if watches.leave_all_to_scans() {
            options.scan_every.min(WITHOUT_WATCHES)
        } else {
            options.scan_every
        };
        let stop = publisher.stop();
        let dumps = Dumps::new(sender.clone(), Arc::clone(&monitor));
        let interval = options.interval;
        let mut publication = PublicationLoop {
            dumps,
            replaced: 0,
            publisher,
            watches,
            announcements,
            monitor,
            interval,
            scan_every,
        };
        publication.watch_replaced();
        let thread = thread::Builder::new()
            .name("publish".to_owned())
            .spawn(move || publication.run(&receiver))
            .map_err(|source| Error::Watch { path: PathBuf::new(), source: source.into() })?;
        Ok(Self { messages: sender, overview: overview_seen, stop, thread: Some(thread) })
    }

    /// Returns the overview of the Source; it changes after each publication.
    pub(crate) fn overview(&self) -> state::Receiver<Arc<Overview>> {
        self.overview.clone()
    }

    /// Returns the handle that requests publications.
    pub(crate) fn requests(&self) -> PublicationRequests {
        PublicationRequests { messages: self.messages.clone() }
    }

    /// Waits until nothing is published any more: [`Self::end`] was called, or the thread has failed.
    pub(crate) async fn ended(&self) {
        let mut overview = self.overview.clone();
        while overview.changed().await.is_ok() {}
    }

    /// Ends after the publication under way. A scan ends early: hashing a large file may take minutes (C18).
    pub(crate) fn end(mut self) {
        self.end_thread();
    }

    fn end_thread(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.stop.request();
            let _ = self.messages.send(LiveMessage::End);
            let _ = thread.join();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end_thread();
    }
}

/// Watches first: what changes during the first scan is seen again after it.
fn watch(
    publisher: &Publisher,
    options: &LiveOptions,
    messages: &mpsc::SyncSender<LiveMessage>,
    monitor: &dyn PublishMonitor,
) -> Watches {
    if !options.watch {
        return Watches::none();
    }
    let mut watches = match Watches::new(own_output(publisher), messages.clone()) {
        Ok(watches) => watches,
        Err(error) => {
            monitor.problem(&PublishProblem::warning("content", watch::advice(&error)));
            return Watches::unable(publisher.holdings().folders().map(|(folder, _)| folder));
        }
    };
    for (folder, _) in publisher.holdings().folders() {
        watches.add(&folder, monitor);
    }
    watches
}

fn own_output(publisher: &Publisher) -> Vec<PathBuf> {
    let options = publisher.options();
    let out = options.out.canonicalize().unwrap_or_else(|_| options.out.clone());
    let state = options.state.canonicalize().unwrap_or_else(|_| options.state.clone());
    vec![out.join(publisher.place().set("").name("")), out.join("robots.txt"), state]
}

/// The steps after each publication: the overview first, so that a client that is notified finds it current.
struct Announcements {
    overview: state::Sender<Arc<Overview>>,
    channels: Box<dyn Announce + Send>,
    /// The number of folders that are scanned because they cannot be watched.
    unwatched: usize,
    /// The reason why the guard refused the last scan of everything; publications of single paths do not settle that.
    refusal: Option<String>,
}

impl Announce for Announcements {
    fn announce(&mut self, publisher: &Publisher, report: &PublishReport) -> Result<(), Error> {
        let mut current = status::overview(publisher, &self.overview.borrow())?;
        current.unwatched_folders = self.unwatched;
        current.failure.clone_from(&self.refusal);
        self.overview.send_replace(Arc::new(current));
        self.channels.announce(publisher, report)
    }
}

/// The thread that publishes.
struct PublicationLoop {
    dumps: Dumps,
    /// The count of folders replaced by others, as of the last time they were watched.
    replaced: u64,
    publisher: Publisher,
    watches: Watches,
    announcements: Announcements,
    monitor: Arc<dyn PublishMonitor>,
    interval: Duration,
    scan_every: Duration,
}

impl PublicationLoop {
    fn run(mut self, messages: &mpsc::Receiver<LiveMessage>) {
        let mut settle = Settle::default();
        let mut next_scan = Instant::now() + self.scan_every;
        let mut next_unwatched = Instant::now() + WITHOUT_WATCHES;
        self.dumps.start_if_due(&self.publisher);
        loop {
            let now = Instant::now();
            let has_unwatched = !self.watches.unwatched().is_empty();
            let until = if has_unwatched { next_scan.min(next_unwatched) } else { next_scan };
            let until_scan = until.saturating_duration_since(now);
            let wait = settle.wait(now).map_or(until_scan, |wait| wait.min(until_scan));
            match messages.recv_timeout(wait) {
                Ok(LiveMessage::End) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
                Ok(message) => {
                    self.note(message, &mut settle);
                    if self.watches.take_lost() {
                        self.note(LiveMessage::EventsLost, &mut settle);
                    }
                    continue;
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            if now >= next_scan {
                settle.look_at_everything();
            } else if has_unwatched && now >= next_unwatched {
                for folder in self.watches.unwatched() {
                    settle.touch(folder.clone(), Touch::Whole, now);
                }
                next_unwatched = now + WITHOUT_WATCHES;
            }
            if let Some(work) = settle.take(now) {
                if work == DueScan::Everything {
                    next_scan = now + self.scan_every;
                }
                settle.rest_until(now + self.interval);
                let scope = match &work {
                    DueScan::Everything => ScanScope::Everything,
                    DueScan::Paths(paths) if paths.is_empty() => ScanScope::Recorded,
                    DueScan::Paths(paths) => ScanScope::Paths(paths),
                };
                match self.publish(scope) {
                    Ok(()) => self.dumps.start_if_due(&self.publisher),
                    // Another try would come to the same; the next scan of everything is one.
                    Err(error) if error.kind() == ErrorKind::Refused => {}
                    Err(Error::Stopped) => return,
                    Err(_) => {
                        settle.look_at_everything();
                        settle.rest_until(Instant::now() + AFTER_FAILURE);
                    }
                }
            }
        }
    }

    fn note(&mut self, message: LiveMessage, settle: &mut Settle) {
        match message {
            LiveMessage::Touched(path, touch) => {
                // The link itself, not what it leads to.
                if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
                    self.watch(&path);
                }
                settle.touch(path, touch, Instant::now());
            }
            LiveMessage::EventsLost => {
                let what = "events of the file system were lost; everything is looked at";
                self.monitor.problem(&PublishProblem::warning("content", what));
                self.watch_all();
                settle.look_at_everything();
            }
            LiveMessage::ScanEverything => settle.look_at_everything(),
            LiveMessage::Recorded => settle.recorded(Instant::now()),
            LiveMessage::Built(built) => {
                if let Some(built) = self.dumps.take(built) {
                    // A package that could not be placed is built again.
                    let _ = self.publish(ScanScope::Dumps(built));
                }
            }
            LiveMessage::End => {}
        }
    }

    fn watch(&mut self, folder: &Path) {
        self.watches.add(folder, &*self.monitor);
        self.announcements.unwatched = self.watches.unwatched().len();
    }

    fn watch_all(&mut self) {
        let folders: Vec<_> = self.publisher.holdings().folders().collect();
        folders.iter().for_each(|(folder, _)| self.watch(folder));
    }

    /// Watches the folders again if another one has taken the place of any.
    fn watch_replaced(&mut self) {
        let replaced = self.publisher.holdings().folders().map(|(_, replaced)| replaced).sum();
        if std::mem::replace(&mut self.replaced, replaced) != replaced {
            self.watch_all();
        }
    }

    /// Publishes; a failure is reported and shown in the overview.
    fn publish(&mut self, scope: ScanScope<'_>) -> Result<(), Error> {
        let was_everything = matches!(scope, ScanScope::Everything);
        if was_everything {
            self.announcements.refusal = None;
        }
        let published = self.publisher.run(scope, &mut self.announcements, &*self.monitor);
        self.watch_replaced();
        published.map(|report| self.monitor.published(report.resources, report.bytes)).inspect_err(|error| {
            if matches!(error, Error::Stopped) {
                return;
            }
            let overview = &self.announcements.overview;
            let failed = status::failed(&overview.borrow(), error);
            let reason = error_chain(error);
            if error.kind() == ErrorKind::Refused {
                self.announcements.refusal.clone_from(&failed.failure);
            }
            self.monitor.problem(&PublishProblem::warning("publication", reason));
            overview.send_replace(Arc::new(failed));
        })
    }
}
