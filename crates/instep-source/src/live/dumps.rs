//! Resource Dumps, built beside publications: nothing waits for them.

use std::{
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use super::message::LiveMessage;
use crate::{Error, PublishMonitor, PublishProblem, Publisher, dump::BuiltDumps};

/// The delay after dumps that could not be built, or not be put in place, before they are built again.
const AFTER_FAILURE: Duration = Duration::from_secs(600);

/// At most one build at a time, on its own thread.
pub(super) struct Dumps {
    messages: mpsc::SyncSender<LiveMessage>,
    monitor: Arc<dyn PublishMonitor>,
    is_building: bool,
    not_before: Option<Instant>,
}

impl Dumps {
    pub(super) fn new(messages: mpsc::SyncSender<LiveMessage>, monitor: Arc<dyn PublishMonitor>) -> Self {
        Self { messages, monitor, is_building: false, not_before: None }
    }

    /// Begins to build the dumps that are due.
    pub(super) fn start_if_due(&mut self, publisher: &Publisher) {
        if self.is_building || self.not_before.is_some_and(|moment| Instant::now() < moment) {
            return;
        }
        match publisher.dump_job() {
            Ok(None) => {}
            Ok(Some(job)) => {
                let (messages, monitor) = (self.messages.clone(), Arc::clone(&self.monitor));
                let build = move || {
                    let built = job.build(&*monitor).map(Box::new);
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

    /// Returns the dumps that were built; `None` if the build failed. The failure is reported.
    pub(super) fn take(&mut self, built: Result<Box<BuiltDumps>, Error>) -> Option<Box<BuiltDumps>> {
        self.is_building = false;
        built.map_err(|error| self.failed(&error.to_string())).ok()
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
