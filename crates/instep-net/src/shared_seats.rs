//! Seats at hosts whose limit holds for several processes together, as far as they are this process's.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until},
};

use crate::origin::Origin;

/// The parallel transfers that a client may have to each host, if several processes share the host's limit. Clones
/// share the counts.
///
/// It makes no decisions: transfers wait until its owner has granted enough seats for the host, and the owner is
/// notified of what they wait for. A seat is one transfer.
#[derive(Clone, Default)]
pub struct SharedSeats(Arc<SharedSeatBook>);

#[derive(Default)]
struct SharedSeatBook {
    hosts: Mutex<BTreeMap<Origin, HostSeats>>,
    news: Notify,
    /// Counts how often all seats were taken away.
    revocations: AtomicU64,
}

/// The seats at one host.
struct HostSeats {
    /// The permits that are not in use: `granted` plus `overdue`, minus the seats in use.
    free: Arc<Semaphore>,
    granted: usize,
    /// Seats in use beyond those granted: each is removed when its transfer ends.
    overdue: usize,
    waiting: usize,
    /// The seats that other processes have.
    others: usize,
    /// The number of pauses that the host requested from other processes.
    pauses: u64,
    /// The most that were in use or waited for at a time since the owner looked last.
    most: usize,
    /// No transfer begins before this time.
    paused_until: Option<Instant>,
    /// A pause that the host requested from this process and that the owner has not read yet.
    asked: Option<Duration>,
}

/// The state of one host, for the owner of the seats.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeatDemand {
    /// The host.
    pub origin: Origin,
    /// The largest number of seats in use or waited for at a time since the owner's last read.
    pub wanted: usize,
    /// The seats that are granted, and those in use beyond them.
    pub kept: usize,
    /// A pause that the host requested since the last read.
    pub asked: Option<Duration>,
}

/// A seat at a host, given back when it is dropped.
pub(crate) struct SharedSeat {
    seats: SharedSeats,
    origin: Origin,
    permit: Option<OwnedSemaphorePermit>,
    /// The revocations before it was taken.
    revocations: u64,
}

/// A transfer that waits for a seat.
struct WaitingTransfer<'a> {
    seats: &'a SharedSeats,
    origin: &'a Origin,
    free: Arc<Semaphore>,
}

impl HostSeats {
    fn new() -> Self {
        let free = Arc::new(Semaphore::new(0));
        Self {
            free,
            granted: 0,
            overdue: 0,
            waiting: 0,
            others: 0,
            pauses: 0,
            most: 0,
            paused_until: None,
            asked: None,
        }
    }

    /// Returns the seats in use or waited for.
    fn wanted(&self) -> usize {
        self.kept() - self.free.available_permits() + self.waiting
    }

    fn kept(&self) -> usize {
        self.granted + self.overdue
    }

    fn pause(&mut self, until: Instant) {
        self.paused_until = self.paused_until.max(Some(until));
    }

    fn is_in_use(&self) -> bool {
        let is_paused = self.paused_until.is_some_and(|until| until > Instant::now());
        self.kept() + self.waiting > 0 || is_paused || self.asked.is_some()
    }
}

impl SharedSeats {
    /// Returns seats at no host.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until a transfer waits for a seat, an overdue seat was returned, or a host has requested a pause.
    pub async fn news(&self) {
        self.0.news.notified().await;
    }

    /// Returns the hosts that are in use, and forgets the others.
    pub fn demands(&self) -> Vec<SeatDemand> {
        let mut hosts = self.hosts();
        hosts.retain(|_, host| host.is_in_use());
        let demand = |(origin, host): (&Origin, &mut HostSeats)| {
            let wanted = host.wanted();
            let most = std::mem::replace(&mut host.most, wanted);
            let (origin, kept, asked) = (origin.clone(), host.kept(), host.asked.take());
            SeatDemand { origin, wanted: most.max(wanted), kept, asked }
        };
        hosts.iter_mut().map(demand).collect()
    }

    /// Grants a host this number of seats from now on. Returns the number that it keeps: more if as many are in use.
    pub fn grant(&self, origin: &Origin, seats: usize) -> usize {
        let mut hosts = self.hosts();
        let host = hosts.entry(origin.clone()).or_insert_with(HostSeats::new);
        let kept = host.kept();
        if seats >= kept {
            host.free.add_permits(seats - kept);
            host.overdue = 0;
        } else {
            host.overdue = kept - seats - host.free.forget_permits(kept - seats);
        }
        host.granted = seats;
        host.kept()
    }

    /// Grants no seats for any host. Current transfers continue.
    pub fn revoke(&self) {
        let origins: Vec<_> = self.hosts().keys().cloned().collect();
        for origin in origins {
            self.grant(&origin, 0);
        }
        self.0.revocations.fetch_add(1, Ordering::Release);
        self.0.news.notify_one();
    }

    /// Lets no transfer to a host begin for a while, because the host requested a pause from another process.
    pub fn pause(&self, origin: &Origin, pause: Duration) {
        let mut hosts = self.hosts();
        let host = hosts.entry(origin.clone()).or_insert_with(HostSeats::new);
        host.pause(Instant::now() + pause);
        host.pauses += 1;
    }

    /// Notes the seats that other processes have at a host.
    pub fn note_others(&self, origin: &Origin, seats: usize) {
        if let Some(host) = self.hosts().get_mut(origin) {
            host.others = seats;
        }
    }

    /// Returns the part of the seats at a host that this process has, of those that any process has.
    pub(crate) fn part(&self, origin: &Origin) -> f64 {
        self.hosts().get(origin).map_or(1.0, |host| {
            let own = host.kept().max(1);
            own as f64 / (own + host.others) as f64
        })
    }

    /// Returns the number of pauses that a host requested from other processes.
    pub(crate) fn pauses_of_others(&self, origin: &Origin) -> u64 {
        self.hosts().get(origin).map_or(0, |host| host.pauses)
    }

    /// Records that a host requested a pause, for the owner.
    pub(crate) fn asked(&self, origin: &Origin, pause: Duration) {
        let mut hosts = self.hosts();
        let host = hosts.entry(origin.clone()).or_insert_with(HostSeats::new);
        host.pause(Instant::now() + pause);
        host.asked = host.asked.max(Some(pause));
        drop(hosts);
        self.0.news.notify_one();
    }

    /// Returns the time until which no transfer to a host begins; `None` if it is not paused.
    pub(crate) fn paused_until(&self, origin: &Origin) -> Option<Instant> {
        let until = self.hosts().get(origin).and_then(|host| host.paused_until);
        until.filter(|until| *until > Instant::now())
    }

    /// Waits for a seat at a host.
    pub(crate) async fn take(&self, origin: &Origin) -> SharedSeat {
        // Read first: a seat counts as taken away rather once too often.
        let revocations = self.0.revocations.load(Ordering::Acquire);
        let permit = match self.take_free(origin) {
            Some(permit) => Some(permit),
            None => {
                let waiting = WaitingTransfer::at(self, origin);
                // No semaphore is ever closed.
                Arc::clone(&waiting.free).acquire_owned().await.ok()
            }
        };
        let seat = SharedSeat { seats: self.clone(), origin: origin.clone(), permit, revocations };
        // A pause may be prolonged while it is waited for.
        while let Some(until) = self.paused_until(origin) {
            sleep_until(until).await;
        }
        seat
    }

    fn take_free(&self, origin: &Origin) -> Option<OwnedSemaphorePermit> {
        let mut hosts = self.hosts();
        let host = hosts.entry(origin.clone()).or_insert_with(HostSeats::new);
        host.most = host.most.max(host.wanted() + 1);
        Arc::clone(&host.free).try_acquire_owned().ok()
    }

    fn hosts(&self) -> MutexGuard<'_, BTreeMap<Origin, HostSeats>> {
        self.0.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> WaitingTransfer<'a> {
    fn at(seats: &'a SharedSeats, origin: &'a Origin) -> Self {
        let mut hosts = seats.hosts();
        let host = hosts.entry(origin.clone()).or_insert_with(HostSeats::new);
        // A host with waiting transfers is not removed by `demands`.
        host.waiting += 1;
        let free = Arc::clone(&host.free);
        drop(hosts);
        seats.0.news.notify_one();
        Self { seats, origin, free }
    }
}

impl Drop for WaitingTransfer<'_> {
    fn drop(&mut self) {
        if let Some(host) = self.seats.hosts().get_mut(self.origin) {
            host.waiting -= 1;
        }
    }
}

impl SharedSeat {
    /// Returns `true` unless all seats were taken away since it was taken: another process may have this one.
    pub(crate) fn is_granted(&self) -> bool {
        self.seats.0.revocations.load(Ordering::Acquire) == self.revocations
    }
}

impl Drop for SharedSeat {
    fn drop(&mut self) {
        let mut hosts = self.seats.hosts();
        // Decided under the lock, because another transfer must not take an overdue seat.
        let Some(host) = hosts.get_mut(&self.origin).filter(|host| host.overdue > 0) else {
            drop(self.permit.take());
            return;
        };
        host.overdue -= 1;
        if let Some(permit) = self.permit.take() {
            permit.forget();
        }
        drop(hosts);
        self.seats.0.news.notify_one();
    }
}

impl fmt::Debug for SharedSeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSeats").field("hosts", &self.hosts().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
