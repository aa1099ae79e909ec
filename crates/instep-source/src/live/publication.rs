//! The thread that publishes: it waits until changes settle, or a scan is due, and runs a publication.

use std::{
    ops::ControlFlow,
    path::Path,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use instep_store::error_chain;

use super::{
    announcements::Announcements,
    dumps::Dumps,
    message::{BACKLOG, LiveMessage},
    scan_times::ScanTimes,
    settle::{DueScan, Settle},
    watch::Watches,
};
use crate::{Error, ErrorKind, PublishMonitor, PublishProblem, Publisher, publish::ScanScope, status};

/// The interval at which a process that shares its catalogue with others makes sure of its right to publish.
const CONFIRM_EVERY: Duration = Duration::from_secs(5);

/// The thread that publishes.
pub(super) struct PublicationLoop {
    pub(super) dumps: Dumps,
    /// The count of folders replaced by others, as of the last time they were watched.
    pub(super) replaced: u64,
    pub(super) publisher: Publisher,
    pub(super) watches: Watches,
    pub(super) announcements: Announcements,
    pub(super) monitor: Arc<dyn PublishMonitor>,
    pub(super) interval: Duration,
    pub(super) scan_every: Duration,
    /// Files and folders that the first publication could not read.
    pub(super) unreadable_at_first: u64,
}

impl PublicationLoop {
    /// Publishes changes until it is ended or another process has the right to publish. In the second case it returns
    /// that error.
    pub(super) fn run(mut self, messages: &mpsc::Receiver<LiveMessage>) -> Option<Error> {
        let mut times = ScanTimes::after_first(self.scan_every, self.interval, Instant::now());
        times.scanned(self.unreadable_at_first, true, Instant::now());
        self.dumps.start_if_due(&self.publisher);
        let mut noted = 0;
        loop {
            let has_unwatched = !self.watches.unwatched().is_empty();
            let wait = times.wait(has_unwatched, Instant::now());
            let is_shared = self.publisher.catalogue().is_shared();
            let wait = if is_shared { wait.min(CONFIRM_EVERY) } else { wait };
            match messages.recv_timeout(wait) {
                Ok(LiveMessage::End) | Err(mpsc::RecvTimeoutError::Disconnected) => return None,
                Ok(message) => {
                    self.note(message, &mut times.settle);
                    if self.watches.take_lost() {
                        self.note(LiveMessage::EventsLost, &mut times.settle);
                    }
                    noted += 1;
                    // Messages may come as fast as they are noted: what is due does not wait until none is left.
                    if noted < BACKLOG || !wait.is_zero() {
                        continue;
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            noted = 0;
            if let Some(lost) = self.lost_right() {
                return Some(lost);
            }
            if let Some(due) = times.take(self.watches.unwatched(), Instant::now())
                && let ControlFlow::Break(ended) = self.publish_due(&due, &mut times)
            {
                return ended;
            }
        }
    }

    /// Publishes what a scan finds. Breaks if the thread ends: without an error if it was stopped, with one if another
    /// process has the right to publish.
    fn publish_due(&mut self, due: &DueScan, times: &mut ScanTimes) -> ControlFlow<Option<Error>> {
        let scope = match due {
            DueScan::Everything => ScanScope::Everything,
            DueScan::Paths(paths) if paths.is_empty() => ScanScope::Recorded,
            DueScan::Paths(paths) => ScanScope::Paths(paths),
        };
        let published = match self.publish(scope) {
            // The guard withholds deletions only: all else that the scan found is recorded, and published now.
            Err(Error::DeletionsRefused { .. }) => self.publish(ScanScope::Recorded),
            published => published,
        };
        match published {
            Ok(unreadable) => {
                times.scanned(unreadable, *due == DueScan::Everything, Instant::now());
                self.dumps.start_if_due(&self.publisher);
            }
            // Another attempt would be refused too, until the next scan of everything.
            Err(error) if error.kind() == ErrorKind::Refused => {}
            Err(Error::Stopped) => return ControlFlow::Break(None),
            // It has lost the right to publish, so nothing that it does takes effect.
            Err(lost @ Error::Locked { .. }) => return ControlFlow::Break(Some(lost)),
            Err(_) => times.failed(Instant::now()),
        }
        ControlFlow::Continue(())
    }

    /// Checks that this process still has the right to publish, and returns an error if another one has it. Called
    /// for unchanged Sources too: a server must not continue to serve documents that another one replaces.
    fn lost_right(&self) -> Option<Error> {
        let catalogue = self.publisher.catalogue();
        let confirmed = if catalogue.is_shared() { catalogue.confirm() } else { Ok(()) };
        confirmed.map_err(Error::from).err().filter(|error| matches!(error, Error::Locked { .. }))
    }

    fn note(&mut self, message: LiveMessage, settle: &mut Settle) {
        match message {
            LiveMessage::Touched(path, touch) => {
                // Of a link the link itself is inspected, and never its target.
                if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
                    self.watch(&path);
                }
                settle.touch(path, touch, Instant::now());
            }
            LiveMessage::EventsLost => {
                let what = "events of the file system were lost; everything is scanned";
                self.monitor.problem(&PublishProblem::warning("content", what));
                self.watch_all();
                settle.look_at_everything();
            }
            LiveMessage::ScanEverything => settle.look_at_everything(),
            LiveMessage::Recorded => settle.recorded(Instant::now()),
            LiveMessage::Built(built) => {
                // The failure itself is reported with the publication.
                if let Some(built) = self.dumps.take(built)
                    && self.publish(ScanScope::Dumps(built)).is_err()
                {
                    self.dumps.rest();
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
    pub(super) fn watch_replaced(&mut self) {
        let replaced = self.publisher.holdings().folders().map(|(_, replaced)| replaced).sum();
        if std::mem::replace(&mut self.replaced, replaced) != replaced {
            self.watch_all();
        }
    }

    /// Publishes, and returns the number of files and folders that could not be read. A failure is reported and shown in
    /// the overview.
    fn publish(&mut self, scope: ScanScope<'_>) -> Result<u64, Error> {
        let was_everything = matches!(scope, ScanScope::Everything);
        if was_everything {
            self.announcements.refusal = None;
        }
        let published = self.publisher.run(scope, &mut self.announcements, &*self.monitor);
        let published = published.map_err(|error| error.in_state(&self.publisher.options().state));
        self.watch_replaced();
        let published = published.map(|report| {
            self.monitor.published(report.resources, report.bytes);
            report.unreadable
        });
        published.inspect_err(|error| {
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
