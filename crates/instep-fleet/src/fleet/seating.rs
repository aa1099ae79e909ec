//! The seats of this worker: requested when transfers wait, given back when others need them.

use std::time::Duration;

use tokio::time::sleep;

use super::{Fleet, TICK, seat_requests::count};

/// The time between two removals of empty lanes.
const SWEEP: Duration = Duration::from_secs(600);

impl Fleet {
    /// Requests the seats that transfers wait for, and gives back those that others need, for as long as it is
    /// polled.
    pub(super) async fn keep_seats(&self) {
        let Some(seat_requests) = self.0.lease.seat_requests() else { return };
        let mut swept = self.0.lease.now();
        loop {
            seat_requests.wait().await;
            if !self.0.lease.acts() {
                sleep(TICK).await;
                continue;
            }
            let now = self.0.lease.now();
            let (me, limit) = {
                let state = self.state();
                (state.me(), count(state.options().access.per_host.max(1)))
            };
            let mut done = seat_requests.work(me, limit, now).await;
            if done.is_ok() && now.saturating_sub(swept) >= SWEEP {
                swept = now;
                done = seat_requests.sweep().await;
            }
            if let Err(error) = done {
                let error = instep_store::error_chain(&error);
                tracing::warn!(error, "no seats can be requested");
                sleep(TICK).await;
            }
        }
    }
}
