//! Reports the hosts for which a run waits, in every phase, because documents may take as long as resources (P10).

use std::{pin::pin, time::Duration};

use instep_net::Client;
use tokio::time::interval;

use crate::{Event, Monitor};

/// The interval at which requests under way are reported.
const EVERY: Duration = Duration::from_secs(1);

/// Reports the requests under way and the hosts for which the run waits.
pub(crate) struct WaitReporter<'a> {
    monitor: &'a dyn Monitor,
    client: Client,
}

impl<'a> WaitReporter<'a> {
    pub(super) fn new(monitor: &'a dyn Monitor, client: Client) -> Self {
        Self { monitor, client }
    }

    /// Does some work, and reports once a second until it is done.
    pub(crate) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut ticks = interval(EVERY);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                _ = ticks.tick() => {
                    let (requests, waiting) = (self.client.under_way(), self.client.waiting());
                    self.monitor.event(Event::UnderWay { requests: &requests, waiting: &waiting });
                }
            }
        }
    }
}
