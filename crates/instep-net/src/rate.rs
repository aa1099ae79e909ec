//! A limit on units per second: requests to a host, bytes in all.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

/// A rate that all its users share.
#[derive(Debug)]
pub(crate) struct Rate {
    per_second: f64,
    /// The part of the rate that this process may use, as the bits of an `f64`; other processes use the rest.
    part: AtomicU64,
    free_at: Mutex<Instant>,
}

impl Rate {
    /// After a pause, the units of this time may be used at once. Less would cost throughput, because timers wake late; more
    /// would be a visible burst.
    const BURST: Duration = Duration::from_millis(200);

    pub(crate) fn new(per_second: f64) -> Self {
        let part = AtomicU64::new(1.0_f64.to_bits());
        Self { per_second: per_second.max(0.001), part, free_at: Mutex::new(Instant::now()) }
    }

    /// Takes no more than a part of the rate from now on.
    pub(crate) fn set_part(&self, part: f64) {
        self.part.store(part.clamp(0.001, 1.0).to_bits(), Relaxed);
    }

    /// Waits until `units` more may be used.
    pub(crate) async fn take(&self, units: u64) {
        let due = self.reserve(units, Instant::now());
        if due > Instant::now() {
            sleep_until(due).await;
        }
    }

    /// Returns `true` if units were used within a time, or the next ones are not due yet.
    pub(crate) fn was_used_within(&self, time: Duration) -> bool {
        *self.free_at.lock().unwrap_or_else(PoisonError::into_inner) + time > Instant::now()
    }

    /// Reserves units and returns the moment from which they may be used.
    fn reserve(&self, units: u64, now: Instant) -> Instant {
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = now.checked_sub(Self::BURST).unwrap_or(now);
        let due = (*free_at).max(earliest);
        let own = self.per_second * f64::from_bits(self.part.load(Relaxed));
        *free_at = due + Duration::from_secs_f64(units as f64 / own);
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_four_a_second_leaves_a_quarter_of_a_second_between() {
        let rate = Rate::new(4.0);
        let now = Instant::now() + Duration::from_secs(1);
        let first = rate.reserve(1, now);
        assert!(first <= now);
        assert_eq!(rate.reserve(1, now) - first, Duration::from_millis(250));
        assert_eq!(rate.reserve(8, now) - first, Duration::from_millis(500));
        assert_eq!(rate.reserve(1, now) - first, Duration::from_millis(2500));
        rate.set_part(0.25);
        assert_eq!(rate.reserve(1, now) - first, Duration::from_millis(2750));
        assert_eq!(rate.reserve(1, now) - first, Duration::from_millis(3750), "others have three quarters");
    }
}
