//! Two lanes for deliveries: subscribers that are slow wait among themselves (C16, W10).

use std::time::Duration;

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

/// The time after which a delivery counts as slow. Most subscribers answer within a round trip.
const QUICK: Duration = Duration::from_millis(500);
/// Deliveries at a time in each lane.
const PLACES: usize = 128;

/// The places for deliveries.
///
/// A quick place is held for at most half a second, even if the subscriber does not answer: 400 subscribers that
/// never answer delay the others by two seconds once, and not at all afterwards.
#[derive(Debug)]
pub(super) struct Lanes {
    quick: Semaphore,
    slow: Semaphore,
}

impl Default for Lanes {
    fn default() -> Self {
        Self { quick: Semaphore::new(PLACES), slow: Semaphore::new(PLACES) }
    }
}

impl Lanes {
    /// Makes a delivery once there is a place for it. Returns its answer, and `true` if it was slow. The request is created
    /// only then, because it takes tens of KiB and thousands of deliveries may wait.
    ///
    /// A delivery that turns out to be slow moves to the other lane. If that is full, it is broken off and has no
    /// answer: the next attempt waits in the slow lane from the beginning.
    pub(super) async fn run<T, D: Future<Output = Option<T>>>(
        &self,
        is_slow: bool,
        delivery: impl FnOnce() -> D,
    ) -> (Option<T>, bool) {
        if is_slow {
            let Ok(_place) = self.slow.acquire().await else { return (None, true) };
            let began = Instant::now();
            let answer = Box::pin(delivery()).await;
            return (answer, began.elapsed() > QUICK);
        }
        let Ok(place) = self.quick.acquire().await else { return (None, false) };
        let mut delivery = Box::pin(delivery());
        tokio::select! {
            answer = &mut delivery => return (answer, false),
            () = sleep(QUICK) => {}
        }
        match self.slow.try_acquire() {
            Ok(_slow_place) => {
                drop(place);
                (delivery.await, true)
            }
            Err(_) => (None, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future, sync::Arc};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn c16_400_slow_subscribers_delay_a_good_one_by_two_seconds_at_most() {
        let lanes = Arc::new(Lanes::default());
        for _ in 0..400 {
            let lanes = Arc::clone(&lanes);
            tokio::spawn(async move { lanes.run(false, future::pending::<Option<()>>).await });
        }
        tokio::task::yield_now().await;
        let began = Instant::now();
        assert_eq!(lanes.run(false, || async { Some("taken") }).await, (Some("taken"), false));
        assert!(began.elapsed() <= Duration::from_secs(2), "{:?}", began.elapsed());

        // Slow subscribers do not block the others at all.
        for _ in 0..400 {
            let lanes = Arc::clone(&lanes);
            tokio::spawn(async move { lanes.run(true, future::pending::<Option<()>>).await });
        }
        sleep(Duration::from_secs(5)).await;
        let began = Instant::now();
        assert_eq!(lanes.run(false, || async { Some("taken") }).await, (Some("taken"), false));
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_delivery_is_carried_to_its_end_and_remembered() {
        let lanes = Lanes::default();
        let slow = || async {
            sleep(Duration::from_secs(5)).await;
            Some(())
        };
        assert_eq!(lanes.run(false, slow).await, (Some(()), true));
        assert_eq!(lanes.run(true, || async { Some(()) }).await, (Some(()), false));
    }
}
