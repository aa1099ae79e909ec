use std::{sync::Mutex, time::Duration};

use tokio::time::{Instant, sleep_until};

/// So many units a second, with at most a fifth of a second's worth at once.
#[derive(Debug)]
pub(crate) struct Pace {
    per_second: f64,
    free_at: Mutex<Instant>,
}

impl Pace {
    const SLACK: Duration = Duration::from_millis(200);

    pub(crate) fn new(per_second: f64) -> Self {
        Self { per_second: per_second.max(0.001), free_at: Mutex::new(Instant::now()) }
    }

    /// Waits for `units` more.
    pub(crate) async fn take(&self, units: u64) {
        let due = self.reserve(units, Instant::now());
        if due > Instant::now() {
            sleep_until(due).await;
        }
    }

    /// When the units reserved now may be used.
    fn reserve(&self, units: u64, now: Instant) -> Instant {
        let mut free_at = self.free_at.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let earliest = now.checked_sub(Self::SLACK).unwrap_or(now);
        let due = (*free_at).max(earliest);
        *free_at = due + Duration::from_secs_f64(units as f64 / self.per_second);
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_of_four_a_second_leaves_a_quarter_of_a_second_between() {
        let pace = Pace::new(4.0);
        let now = Instant::now() + Duration::from_secs(1);
        let first = pace.reserve(1, now);
        assert!(first <= now);
        assert_eq!(pace.reserve(1, now) - first, Duration::from_millis(250));
        assert_eq!(pace.reserve(8, now) - first, Duration::from_millis(500));
        assert_eq!(pace.reserve(1, now) - first, Duration::from_millis(2500));
    }
}
