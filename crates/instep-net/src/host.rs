//! One host: its state and its limits.

mod admission;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use http::StatusCode;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use crate::{
    adaptive::AdaptiveLimit,
    origin::Origin,
    pause::{HostPause, Pause},
    pool::{ConnectionPool, KeptConnections},
    rate::Rate,
    retry::MAX_BACKOFF,
    scope::Scope,
    seating::Seat,
    shared_seats::{SharedSeat, SharedSeats},
    traffic::Traffic,
};

/// The permission for one transfer, given back when it is dropped.
pub(crate) struct Permit {
    host: Arc<Host>,
    _share: OwnedSemaphorePermit,
    shared_seat: Option<SharedSeat>,
    seat: Seat,
}

impl Permit {
    /// Returns `false` if this process has lost its seat to another one: the transfer may not begin.
    pub(crate) fn is_valid(&self) -> bool {
        self.shared_seat.as_ref().is_none_or(SharedSeat::is_granted)
    }

    /// Counts bytes of a body that arrived.
    pub(crate) fn count(&self, bytes: u64) {
        self.note_activity();
        self.host.note(|traffic| traffic.bytes += bytes);
    }

    /// Records that the host sent something.
    pub(crate) fn note_activity(&self) {
        self.seat.note_activity();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.host.note(|traffic| traffic.transfers -= 1);
    }
}

/// The limits that each host begins with.
#[derive(Clone, Debug)]
pub(crate) struct HostLimits {
    pub(crate) per_host: usize,
    pub(crate) streams: usize,
    pub(crate) most_idle: usize,
    pub(crate) rate: Option<f64>,
    pub(crate) adaptive: bool,
    pub(crate) seats: Option<SharedSeats>,
    /// The connections that are kept, of all hosts.
    pub(crate) kept: Arc<KeptConnections>,
}

/// One host: the connections to it, its share of the transfers, and the time in which it gets no requests.
pub(crate) struct Host {
    pool: Arc<ConnectionPool>,
    /// Connections opened for a scope in which the host may have private addresses; other scopes do not use them.
    private_pool: Arc<ConnectionPool>,
    origin: Origin,
    share: Arc<Semaphore>,
    limit: Mutex<AdaptiveLimit>,
    /// The most transfers at a time over HTTP/2.
    streams: usize,
    /// The moment from which the times of its answers are measured.
    began: Instant,
    failures: AtomicU32,
    /// The pace of requests: that of the options, or the one that the host requests.
    rate: OnceLock<Rate>,
    /// The number of transfers adapts to the host's answers, and a host that only fails is paused. If `false`, only the
    /// fixed limits hold.
    adaptive: bool,
    pause: HostPause,
    /// The time of the next attempt after a failure, if a request waits for one.
    next_attempt: Mutex<Option<Instant>>,
    traffic: Mutex<Traffic>,
    /// Seats that several processes share.
    seats: Option<SharedSeats>,
    /// The pauses that other processes were asked for, as far as this one has lowered its limit for them.
    seen_pauses: AtomicU64,
    /// The time at which it last sent something.
    last_active: Arc<AtomicU64>,
}

impl Host {
    /// Failures in a row after which a host gets no requests for a while (D30). Five resources with six attempts each
    /// may fail although the host itself is healthy.
    const MOST_FAILURES: u32 = 40;

    /// The pause that all processes make if a host is overloaded and does not say for how long.
    const UNSAID: Duration = Duration::from_secs(1);

    /// The time for which the pace of a host is remembered after its last request: a run may read lists for that long.
    const PACED: Duration = Duration::from_secs(3_600);

    pub(crate) fn new(origin: Origin, limits: &HostLimits) -> Self {
        Self {
            pool: Arc::new(ConnectionPool::new(limits.most_idle, Arc::clone(&limits.kept))),
            private_pool: Arc::new(ConnectionPool::new(limits.most_idle, Arc::clone(&limits.kept))),
            origin,
            share: Arc::new(Semaphore::new(limits.per_host)),
            limit: Mutex::new(AdaptiveLimit::new(limits.per_host)),
            streams: limits.streams,
            began: Instant::now(),
            failures: AtomicU32::new(0),
            rate: limits.rate.map(Rate::new).map(OnceLock::from).unwrap_or_default(),
            adaptive: limits.adaptive,
            pause: HostPause::default(),
            next_attempt: Mutex::new(None),
            traffic: Mutex::default(),
            seats: limits.seats.clone(),
            seen_pauses: AtomicU64::new(0),
            last_active: Arc::default(),
        }
    }

    /// Returns the connections that a request within a scope may use.
    pub(crate) fn pool(&self, scope: &Scope) -> &Arc<ConnectionPool> {
        if scope.may_be_private(self.origin.host(), self.origin.port()) {
            &self.private_pool
        } else {
            &self.pool
        }
    }

    /// Keeps a pause between two requests, unless the options or an earlier request of the host set the pace.
    pub(crate) fn keep_pause(&self, pause: Duration) {
        self.rate.get_or_init(|| Rate::new(pause.as_secs_f64().recip()));
    }

    /// Updates the figures of the host.
    pub(crate) fn note<T>(&self, note: impl FnOnce(&mut Traffic) -> T) -> T {
        note(&mut self.traffic.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records a response that is not a failure, and the time until its headers.
    pub(crate) fn succeeded(&self, latency: Duration) {
        self.failures.store(0, Relaxed);
        let free = self.share.available_permits();
        self.change_limit(|limit| limit.good(latency, self.began.elapsed(), free));
    }

    /// Records that it speaks HTTP/2, whose connection carries more requests than there would be connections.
    pub(crate) fn carries_streams(&self) {
        self.change_limit(|limit| limit.widen_to(self.streams));
    }

    /// Returns the number of transfers that may be under way at a time.
    pub(crate) fn window(&self) -> usize {
        self.limit().most()
    }

    /// Records that the host did not answer in time.
    pub(crate) fn timed_out(&self) {
        self.change_limit(AdaptiveLimit::overloaded);
    }

    /// Records a transient failure. After too many in a row requests fail at once for a while.
    pub(crate) fn failed(&self) {
        if self.adaptive && self.failures.fetch_add(1, Relaxed) + 1 >= Self::MOST_FAILURES {
            self.failures.store(Self::MOST_FAILURES / 2, Relaxed);
            self.pause.begin(Pause::Broken(Instant::now() + MAX_BACKOFF));
        }
    }

    /// Records that a request waits this long before its next attempt. Returns `true` unless another one waits already.
    pub(crate) fn begins_to_wait(&self, pause: Duration) -> bool {
        let now = Instant::now();
        let mut next = self.next_attempt.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = next.is_none_or(|next| next <= now);
        *next = next.max(Some(now + pause));
        is_first
    }

    /// Returns the time until which the host gets no requests: the end of a pause, or the next attempt of a failed request
    /// while no other request is under way.
    pub(crate) fn waits_until(&self) -> Option<Instant> {
        let next = *self.next_attempt.lock().unwrap_or_else(PoisonError::into_inner);
        let is_idle = self.note(|traffic| traffic.transfers == 0);
        let pause = self.pause.current().map(Pause::until);
        let rest = self.seats.as_ref().and_then(|seats| seats.paused_until(&self.origin));
        pause.max(rest).max(next.filter(|_| is_idle))
    }

    /// Records that the host is overloaded (429, 503): it gets no requests for the time that it requests (D29).
    pub(crate) fn overloaded(&self, status: StatusCode, pause: Option<Duration>) {
        self.change_limit(AdaptiveLimit::overloaded);
        if let Some(pause) = pause.filter(|_| self.adaptive) {
            let (status, seconds) = (status.as_u16(), pause.as_secs());
            tracing::warn!("{} is busy ({status}); retrying in {seconds} s", self.origin);
            self.pause.begin(Pause::CoolDown(Instant::now() + pause));
        }
        if let Some(seats) = self.seats.as_ref().filter(|_| self.adaptive) {
            // The other processes also pause and lower their limits, even if the host does not say for how long.
            seats.asked(&self.origin, pause.unwrap_or(Self::UNSAID));
        }
    }

    fn limit(&self) -> MutexGuard<'_, AdaptiveLimit> {
        self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change_limit(&self, change: impl FnOnce(&mut AdaptiveLimit)) {
        if !self.adaptive {
            return;
        }
        let mut limit = self.limit();
        let before = limit.now();
        change(&mut limit);
        match limit.now() {
            now if now > before => self.share.add_permits(now - before),
            now if now < before => self.take_away(before - now),
            _ => {}
        }
    }

    /// Removes permits. Those in use cannot be removed at once: the first ones to be returned are kept instead.
    fn take_away(&self, permits: usize) {
        let missing = permits - self.share.forget_permits(permits);
        if missing == 0 {
            return;
        }
        let share = Arc::clone(&self.share);
        tokio::spawn(async move {
            if let Ok(taken) = share.acquire_many(u32::try_from(missing).unwrap_or(u32::MAX)).await {
                taken.forget();
            }
        });
    }

    /// Returns the origin of the host.
    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns its figures since they were taken last.
    pub(crate) fn take_traffic(&self) -> Traffic {
        let most_transfers = self.limit().now();
        let taken = self.note(|traffic| {
            let transfers = traffic.transfers;
            std::mem::replace(traffic, Traffic { transfers, ..Traffic::default() })
        });
        Traffic { most_transfers, ..taken }
    }

    /// Closes idle connections. Returns `true` if it has neither a connection nor a pause nor a pace any more.
    pub(crate) fn close_idle(&self) -> bool {
        // `&` and not `&&`: both pools must be searched.
        let is_closed = self.pool.close_idle() & self.private_pool.close_idle();
        let is_paced = self.rate.get().is_some_and(|rate| rate.was_used_within(Self::PACED));
        is_closed && !is_paced && self.pause.current().is_none()
    }
}

#[cfg(test)]
mod tests;
