//! Waiting for one of the seats that all transfers share.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{
    sync::{Mutex as AsyncMutex, Notify},
    time::{Instant, sleep_until},
};

use crate::{origin::Origin, seats::Seats};

/// The seats, and the callers that wait for one.
pub(crate) struct Seating {
    seats: Mutex<Seats>,
    /// Callers that wait for a seat wait in line.
    line: AsyncMutex<()>,
    given_back: Notify,
    /// The moment that times count from.
    began: Instant,
}

/// A seat, given back when it is dropped.
pub(crate) struct Seat {
    seating: Arc<Seating>,
    host: Origin,
    last_active: Arc<AtomicU64>,
}

impl Seating {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            seats: Mutex::new(Seats::new(most)),
            line: AsyncMutex::new(()),
            given_back: Notify::new(),
            began: Instant::now(),
        })
    }

    /// Waits for a seat for a transfer from a host: one that is given back, or one of a silent host. `last_active` is the
    /// time at which the host last sent something.
    pub(crate) async fn take(self: &Arc<Self>, host: &Origin, last_active: &Arc<AtomicU64>) -> Seat {
        let _place = self.line.lock().await;
        loop {
            let taken = self.seats().take(host, last_active, self.now());
            match taken {
                Ok(()) => {
                    let (seating, last_active) = (Arc::clone(self), Arc::clone(last_active));
                    return Seat { seating, host: host.clone(), last_active };
                }
                Err(None) => self.given_back.notified().await,
                Err(Some(next)) => tokio::select! {
                    () = self.given_back.notified() => {}
                    () = sleep_until(self.began + Duration::from_millis(next)) => {}
                },
            }
        }
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the milliseconds since it began.
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Seat {
    /// Records that the host sent something: a silent host leaves its seats to others (B17).
    pub(crate) fn note_activity(&self) {
        self.last_active.store(self.seating.now(), Relaxed);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seating.seats().give_back(&self.host);
        self.seating.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn b17_stalled_hosts_hold_nobody_up_for_longer_than_a_few_seconds() {
        let seating = Seating::new(16);
        let host = |name: &str| (Origin::parse(&format!("http://{name}.example/")).unwrap(), Arc::default());
        let (one, two, good) = (host("one"), host("two"), host("good"));
        let mut stalled = Vec::new();
        for (origin, last_active) in [&one, &two] {
            for _ in 0..8 {
                stalled.push(seating.take(origin, last_active).await);
            }
        }
        let began = Instant::now();
        let seat = seating.take(&good.0, &good.1).await;
        assert_eq!(began.elapsed().as_secs(), 5);
        stalled[0].note_activity();
        stalled[8].note_activity();
        drop(seat);
        drop(seating.take(&good.0, &good.1).await);
        assert_eq!(began.elapsed().as_secs(), 10, "they are active again, so that their seats count");
        stalled[0].note_activity();
        stalled[8].note_activity();
        let again = async { drop(seating.take(&good.0, &good.1).await) };
        let free = async { drop(stalled.pop()) };
        tokio::join!(again, free);
        assert_eq!(began.elapsed().as_secs(), 10, "a seat that is given back is taken at once");
    }
}
