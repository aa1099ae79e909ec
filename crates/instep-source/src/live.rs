//! Watch, settle, publish again: the task that runs beside the server.

mod dumps;
mod settle;
mod status;
mod touched;
mod watch;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use tokio::sync::watch as state;

use crate::{Error, Monitor, Problem, PublishReport, Publisher, dump::BuiltDumps, serve::Overview};
use dumps::Dumps;
use settle::{Settle, Touch, Work};
pub use touched::Touched;
use watch::Watches;

/// Messages that may wait; when there are more, everything is looked at instead.
const BACKLOG: usize = 16_384;
/// How long after a failure it is tried again.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// How often everything is looked at where watches are missing.
const WITHOUT_WATCHES: Duration = Duration::from_secs(30);

/// How a Source is kept current.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LiveOptions {
    /// Whether the content is watched; otherwise scans alone find changes.
    pub watch: bool,
    /// How often everything is looked at, watched or not; 10 min.
    pub scan_every: Duration,
    /// The least time between the begins of two publications; the first change after it is published at once. 500 ms,
    /// so that each change is told within a second.
    pub interval: Duration,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self { watch: true, scan_every: Duration::from_secs(600), interval: Duration::from_millis(500) }
    }
}

/// Told after each publication, when its documents are in place; on the thread that publishes.
pub(crate) trait Announce: Send {
    /// What was published.
    fn announce(&mut self, publisher: &Publisher, report: &PublishReport);
}

/// A Source that publishes what changes. Dropping it ends that.
#[derive(Debug)]
pub struct Live {
    messages: mpsc::SyncSender<Message>,
    overview: state::Receiver<Arc<Overview>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// Tells the thread that publishes what it does not see itself. A full channel leads to a publication anyway.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    messages: mpsc::SyncSender<Message>,
}

impl Told {
    /// An application recorded changes in the catalogue.
    pub(crate) fn recorded(&self) {
        let _ = self.messages.try_send(Message::Recorded);
    }

    /// Somebody wants everything to be looked at.
    pub(crate) fn look_at_everything(&self) {
        let _ = self.messages.try_send(Message::LookAtEverything);
    }
}

/// What the thread that publishes is told.
#[derive(Debug)]
enum Message {
    Touched(PathBuf, Touch),
    EventsLost,
    Recorded,
    LookAtEverything,
    Built(Result<Box<BuiltDumps>, Error>),
    End,
}

impl Live {
    /// Watches the content, then publishes all of it; blocks until the documents are complete.
    ///
    /// # Errors
    /// When the first publication fails. What fails later goes to the monitor and is tried again.
    pub(crate) fn start(
        mut publisher: Publisher,
        options: LiveOptions,
        mut announce: Box<dyn Announce>,
        monitor: Arc<dyn Monitor>,
    ) -> Result<Self, Error> {
        let (sender, receiver) = mpsc::sync_channel(BACKLOG);
        let watches = watch(&publisher, &options, &sender, &*monitor);
        touched::watch_suppliers(&publisher, &sender);
        let report = publisher.publish(&*monitor)?;
        announce.announce(&publisher, &report);
        let (overview, overview_seen) = state::channel(Arc::new(status::overview(&publisher, None)?));
        let scan_every =
            if watches.stand() { options.scan_every } else { options.scan_every.min(WITHOUT_WATCHES) };
        let dumps = Dumps::new(sender.clone(), Arc::clone(&monitor));
        let keeper = Keeper {
            dumps,
            publisher,
            watches,
            announce,
            monitor,
            overview,
            interval: options.interval,
            scan_every,
        };
        let thread = thread::Builder::new()
            .name("publish".to_owned())
            .spawn(move || keeper.run(&receiver))
            .map_err(|source| Error::Watch { path: PathBuf::new(), source: source.into() })?;
        Ok(Self { messages: sender, overview: overview_seen, thread: Some(thread) })
    }

    /// What is said about the Source; changes after each publication.
    pub fn overview(&self) -> state::Receiver<Arc<Overview>> {
        self.overview.clone()
    }

    /// The way to tell it what it does not see itself.
    pub(crate) fn told(&self) -> Told {
        Told { messages: self.messages.clone() }
    }

    /// Ends after the publication under way.
    pub fn end(mut self) {
        self.end_thread();
    }

    fn end_thread(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = self.messages.send(Message::End);
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
    messages: &mpsc::SyncSender<Message>,
    monitor: &dyn Monitor,
) -> Watches {
    if !options.watch {
        return Watches::none();
    }
    let Ok(mut watches) = Watches::new(own_output(publisher), messages.clone()) else {
        return Watches::none();
    };
    for folder in publisher.holdings().folders() {
        if let Err(failure) = watches.add(folder) {
            monitor.problem(&Problem::warning(failure.folder.to_string_lossy(), failure.advice()));
            return Watches::none();
        }
    }
    watches
}

fn own_output(publisher: &Publisher) -> Vec<PathBuf> {
    let options = publisher.options();
    let out = options.out.canonicalize().unwrap_or_else(|_| options.out.clone());
    let state = options.state.canonicalize().unwrap_or_else(|_| options.state.clone());
    vec![out.join(publisher.place().set("").name("")), out.join("robots.txt"), state]
}

/// The thread that publishes.
struct Keeper {
    dumps: Dumps,
    publisher: Publisher,
    watches: Watches,
    announce: Box<dyn Announce>,
    monitor: Arc<dyn Monitor>,
    overview: state::Sender<Arc<Overview>>,
    interval: Duration,
    scan_every: Duration,
}

impl Keeper {
    fn run(mut self, messages: &mpsc::Receiver<Message>) {
        let mut settle = Settle::default();
        let mut next_scan = Instant::now() + self.scan_every;
        self.dumps.start_if_due(&self.publisher);
        loop {
            let now = Instant::now();
            let until_scan = next_scan.saturating_duration_since(now);
            let wait = settle.wait(now).map_or(until_scan, |wait| wait.min(until_scan));
            match messages.recv_timeout(wait) {
                Ok(Message::End) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
                Ok(message) => {
                    self.note(message, &mut settle);
                    if self.watches.take_lost() {
                        self.note(Message::EventsLost, &mut settle);
                    }
                    continue;
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            if now >= next_scan {
                settle.look_at_everything();
            }
            if let Some(work) = settle.take(now) {
                if work == Work::Everything {
                    next_scan = now + self.scan_every;
                }
                settle.rest_until(now + self.interval);
                if self.publish(&work).is_err() {
                    settle.look_at_everything();
                    settle.rest_until(Instant::now() + AFTER_FAILURE);
                }
            }
        }
    }

    fn note(&mut self, message: Message, settle: &mut Settle) {
        match message {
            Message::Touched(path, touch) => {
                // The link itself, not what it leads to.
                if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
                    self.watch(&path);
                }
                settle.touch(path, touch, Instant::now());
            }
            Message::EventsLost => {
                let what = "events of the file system were lost; everything is looked at";
                self.monitor.problem(&Problem::warning("content", what));
                let folders: Vec<PathBuf> = self.publisher.holdings().folders().map(Into::into).collect();
                folders.iter().for_each(|folder| self.watch(folder));
                settle.look_at_everything();
            }
            Message::LookAtEverything => settle.look_at_everything(),
            Message::Recorded => settle.recorded(Instant::now()),
            Message::Built(built) => {
                if let Some(built) = self.dumps.take(built) {
                    let placed = self.publisher.place_dumps(*built, &*self.monitor);
                    // What failed here is built again.
                    let _ = self.conclude(placed);
                }
            }
            Message::End => {}
        }
    }

    fn watch(&mut self, folder: &Path) {
        if let Err(failure) = self.watches.add(folder) {
            self.scan_every = self.scan_every.min(WITHOUT_WATCHES);
            self.monitor.problem(&Problem::warning(failure.folder.to_string_lossy(), failure.advice()));
        }
    }

    fn publish(&mut self, work: &Work) -> Result<(), Error> {
        let monitor = &*self.monitor;
        let published = match work {
            Work::Everything => self.publisher.publish(monitor),
            Work::Paths(paths) if paths.is_empty() => self.publisher.publish_recorded(monitor),
            Work::Paths(paths) => self.publisher.publish_paths(paths, monitor),
        };
        self.conclude(published)?;
        self.dumps.start_if_due(&self.publisher);
        Ok(())
    }

    /// Tells of a publication, or of its failure.
    fn conclude(&mut self, published: Result<PublishReport, Error>) -> Result<(), Error> {
        let before = Arc::clone(&self.overview.borrow());
        let told = published.and_then(|report| {
            let current = status::overview(&self.publisher, Some(&before))?;
            Ok((report, current))
        });
        match told {
            Ok((report, current)) => {
                self.overview.send_replace(Arc::new(current));
                self.announce.announce(&self.publisher, &report);
                Ok(())
            }
            Err(error) => {
                let failed = status::failed(&before, &error);
                self.monitor
                    .problem(&Problem::warning("publication", failed.failure.clone().unwrap_or_default()));
                self.overview.send_replace(Arc::new(failed));
                Err(error)
            }
        }
    }
}
