//! The end of a run before its work is done, because its caller requests it, or because its time or its bytes are used
//! up (B12).

use std::time::Duration;

use tokio::{
    task::AbortHandle,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{Shutdown, SyncOptions, SyncReport};

/// The time and the bytes that are left. All rounds of a following run share them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLimits {
    until: Option<Instant>,
    bytes: Option<u64>,
}

impl RunLimits {
    /// Returns the limits of a run that begins now.
    pub(crate) fn of(options: &SyncOptions) -> Self {
        let until = options.max_duration.and_then(|most| Instant::now().checked_add(most));
        Self { until, bytes: options.max_transfer }
    }

    /// Subtracts the transfers of a round.
    pub(crate) fn spend(&mut self, round: &SyncReport) {
        self.bytes = self.bytes.map(|bytes| bytes.saturating_sub(round.bytes));
    }

    /// Returns `true` if the time is over, or a run has transferred as many bytes as it may.
    pub(crate) fn are_reached(self, bytes: u64) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
            || self.bytes.is_some_and(|most| bytes >= most)
    }

    /// Returns the time until the end, if there is a limit on time.
    pub(crate) fn time_left(self) -> Option<Duration> {
        self.until.map(|until| until.saturating_duration_since(Instant::now()))
    }
}

/// The signal that ends every wait of a run. It is given when the caller requests it, or when the time of the run is
/// over.
#[derive(Debug)]
pub(crate) struct RunStop {
    token: CancellationToken,
    timer: Option<AbortHandle>,
}

impl RunStop {
    /// Returns the stop of a run within its limits.
    pub(crate) fn new(shutdown: &Shutdown, limits: RunLimits) -> Self {
        let token = shutdown.token().child_token();
        let timer = limits.until.map(|until| {
            let token = token.clone();
            let timer = tokio::spawn(async move {
                sleep_until(until).await;
                token.cancel();
            });
            timer.abort_handle()
        });
        Self { token, timer }
    }

    /// Returns the token, for concurrent tasks.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Waits for some work. Returns `None` if the run should end before it is done.
    pub(crate) async fn unless<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.token.run_until_cancelled(Box::pin(work)).await
    }
}

impl Drop for RunStop {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.abort();
        }
    }
}
