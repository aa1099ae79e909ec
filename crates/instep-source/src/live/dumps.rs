//! Resource Dumps, built beside publications: nothing waits for them.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use super::message::LiveMessage;
use crate::{Error, NoMonitor, PublishMonitor, PublishProblem, Publisher, dump::BuiltDumps};

/// The delay after dumps that could not be built, or not be put in place, before they are built again.
const AFTER_FAILURE: Duration = Duration::from_secs(600);

/// At most one build at a time, on its own thread.
pub(super) struct Dumps {
    messages: mpsc::SyncSender<LiveMessage>,
    monitor: Arc<dyn PublishMonitor>,
    is_building: bool,
    not_before: Option<Instant>,
    /// `true` once the sets that can have no dump were reported: not with each publication.
    has_reported: bool,
}

impl Dumps {
    pub(super) fn new(messages: mpsc::SyncSender<LiveMessage>, monitor: Arc<dyn PublishMonitor>) -> Self {
        Self { messages, monitor, is_building: false, not_before: None, has_reported: false }
    }

    /// Begins to build the dumps that are due.
    pub(super) fn start_if_due(&mut self, publisher: &Publisher) {
        if self.is_building || self.not_before.is_some_and(|moment| Instant::now() < moment) {
            return;
        }
        let monitor: &dyn PublishMonitor =
            if mem::replace(&mut self.has_reported, true) { &NoMonitor } else { &*self.monitor };
        match publisher.dump_job(monitor) {
            Ok(None) => {}
            Ok(Some(job)) => {
                let (messages, monitor) = (self.messages.clone(), Arc::clone(&self.monitor));
                let build = move || {
                    // Without an answer no dump would be built any more.
                    let built = catch_unwind(AssertUnwindSafe(|| job.build(&*monitor).map(Box::new)));
                    let built = built.unwrap_or_else(|_| Err(panicked()));
                    // The Source may have ended meanwhile.
                    let _ = messages.send(LiveMessage::Built(built));
                };
                match thread::Builder::new().name("dump".to_owned()).spawn(build) {
                    Ok(_) => self.is_building = true,
                    Err(error) => self.failed(&error.to_string()),
                }
            }
            Err(error) => self.failed(&error.to_string()),
        }
    }

    /// Returns the dumps that were built; `None` if the build failed, or ended because the Source does. A failure is
    /// reported.
    pub(super) fn take(&mut self, built: Result<Box<BuiltDumps>, Error>) -> Option<Box<BuiltDumps>> {
        self.is_building = false;
        match built {
            Ok(built) => return Some(built),
            Err(Error::Stopped) => {}
            Err(error) => self.failed(&error.to_string()),
        }
        None
    }

    /// Builds no dump for a while. Each attempt reads all resources, so that a fault that stays would cost as much after
    /// each publication.
    pub(super) fn rest(&mut self) {
        self.not_before = Some(Instant::now() + AFTER_FAILURE);
    }

    fn failed(&mut self, why: &str) {
        self.rest();
        self.monitor.problem(&PublishProblem::warning("Resource Dump", why));
    }
}

fn panicked() -> Error {
    let source = "a fault in the program, which is in the log".into();
    Error::Package { name: "of all resources".to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DumpPolicy, PublishOptions, PublishPhase};

    struct PanickingMonitor;

    impl PublishMonitor for PanickingMonitor {
        fn phase(&self, phase: PublishPhase) {
            assert!(phase != PublishPhase::Pack, "a fault in the program");
        }
    }

    #[test]
    fn o537_a_dump_whose_build_panics_is_followed_by_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "a").unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        options.dumps.policy = DumpPolicy::Always;
        let mut publisher = Publisher::open(options).unwrap();
        publisher.publish(&NoMonitor).unwrap();
        let (sender, messages) = mpsc::sync_channel(1);
        let mut dumps = Dumps::new(sender, Arc::new(PanickingMonitor));
        dumps.start_if_due(&publisher);
        let message = messages.recv_timeout(Duration::from_secs(30)).unwrap();
        let LiveMessage::Built(built) = message else { panic!("no answer") };
        assert!(dumps.take(built).is_none() && !dumps.is_building);
    }
}
