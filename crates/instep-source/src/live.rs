//! Keeps a Source current: watches the content, waits until changes settle, and publishes them, on its own thread.
//!
//! The order is: set watches, scan everything, follow events. A new folder is scanned after its watch is set. If
//! events are lost, or the system allows no more watches, everything is scanned, and that is reported. Links are not
//! followed, and the output of instep itself is no content.

mod announcements;
mod dumps;
mod message;
mod publication;
mod rescan;
mod scan_times;
mod settle;
mod suppliers;
mod watch;

use std::{
    path::PathBuf,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use tokio::sync::watch as state;

use crate::{
    Error, PublishMonitor, PublishProblem, Publisher,
    catalogue::Catalogue,
    publish::{Announce, ScanScope},
    scan::ScanStop,
    status::Overview,
};
use announcements::Announcements;
use dumps::Dumps;
pub(crate) use message::PublicationRequests;
use message::{BACKLOG, LiveMessage};
use publication::PublicationLoop;
use watch::{WITHOUT_WATCHES, Watches};

/// Options for keeping a Source current.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LiveOptions {
    /// Watches the content for changes; without it, scans alone find them.
    pub watch: bool,
    /// The interval of complete scans, with or without watches; 10 min. A watch can lose events, which a scan finds.
    pub scan_every: Duration,
    /// The shortest time from the start of one publication to the start of the next; 500 ms, so that each change is
    /// announced within a second. A change that comes later than that is published at once.
    pub interval: Duration,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self { watch: true, scan_every: Duration::from_secs(600), interval: Duration::from_millis(500) }
    }
}

/// A Source that publishes its changes until this value is dropped.
#[derive(Debug)]
pub(crate) struct Live {
    messages: mpsc::SyncSender<LiveMessage>,
    overview: state::Receiver<Arc<Overview>>,
    stop: ScanStop,
    /// The catalogue, whose server is not waited for in the end; `None` after that.
    catalogue: Option<Catalogue>,
    /// The thread that publishes. Its result is the reason if it ended by itself.
    thread: Option<thread::JoinHandle<Option<Error>>>,
}

impl Live {
    /// Watches the content, then publishes all of it; blocks until the documents are complete.
    ///
    /// # Errors
    /// If the first publication fails. Later failures are reported to the monitor and tried again.
    pub(crate) fn start(
        mut publisher: Publisher,
        options: LiveOptions,
        channels: Box<dyn Announce + Send>,
        overview: state::Sender<Arc<Overview>>,
        monitor: Arc<dyn PublishMonitor>,
    ) -> Result<Self, Error> {
        let (sender, receiver) = mpsc::sync_channel(BACKLOG);
        let watches = watch_content(&publisher, &options, &sender, &*monitor);
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
        let (stop, catalogue) = (publisher.stop(), Some(publisher.catalogue().clone()));
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
            unreadable_at_first: first.unreadable,
        };
        publication.watch_replaced();
        let thread = thread::Builder::new()
            .name("publish".to_owned())
            .spawn(move || publication.run(&receiver))
            .map_err(|source| Error::Watch { path: PathBuf::new(), source: source.into() })?;
        Ok(Self { messages: sender, overview: overview_seen, stop, catalogue, thread: Some(thread) })
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

    /// Ends after the publication under way. A scan ends early: hashing a large file may take minutes (C18). So does a wait
    /// for the database of the catalogue. Returns the reason if publishing had ended by itself.
    pub(crate) fn end(mut self) -> Option<Error> {
        self.end_thread()
    }

    fn end_thread(&mut self) -> Option<Error> {
        let thread = self.thread.take()?;
        self.stop.request();
        if let Some(catalogue) = self.catalogue.take() {
            catalogue.end_waits();
        }
        let _ = self.messages.send(LiveMessage::End);
        thread.join().ok().flatten()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end_thread();
    }
}

/// Sets the watches first: changes during the first scan are seen again after it.
fn watch_content(
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

#[cfg(test)]
mod tests;
