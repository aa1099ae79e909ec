//! One host: what is known of it, and how hard it may be used.

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
    time::{Instant, sleep_until},
};

use crate::{
    adaptive::AdaptiveLimit,
    error::HttpError,
    origin::Origin,
    pool::ConnectionPool,
    rate::Rate,
    retry::MAX_BACKOFF,
    scope::Scope,
    seating::{Seat, Seating},
    traffic::Traffic,
};

/// The permission for one transfer, given back when it is dropped.
pub(crate) struct Permit {
    host: Arc<Host>,
    _share: OwnedSemaphorePermit,
    seat: Seat,
}

impl Permit {
    /// Counts bytes of a body that arrived.
    pub(crate) fn count(&self, bytes: u64) {
        self.heard();
        self.host.note(|traffic| traffic.bytes += bytes);
    }

    /// Records that the host said something.
    pub(crate) fn heard(&self) {
        self.seat.heard();
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
    pub(crate) most_idle: usize,
    pub(crate) rate: Option<f64>,
    pub(crate) adaptive: bool,
}

/// One host: the connections to it, its share of the transfers, and the time in which it gets no requests.
pub(crate) struct Host {
    pool: Arc<ConnectionPool>,
    /// Connections that were opened for a scope in which the host may have private addresses: nobody else uses them.
    private_pool: Arc<ConnectionPool>,
    origin: Origin,
    share: Arc<Semaphore>,
    limit: Mutex<AdaptiveLimit>,
    failures: AtomicU32,
    /// The pace of requests: that of the options, else the one that the host asks for.
    rate: OnceLock<Rate>,
    /// The host is slowed down and left out by how it does; otherwise only the fixed limits hold.
    adaptive: bool,
    pause: Mutex<Option<Pause>>,
    /// The time of the next attempt after a failure, if a request waits for one.
    next_attempt: Mutex<Option<Instant>>,
    traffic: Mutex<Traffic>,
    /// The time at which it said something last.
    heard: Arc<AtomicU64>,
}

/// A time in which a host gets no requests.
#[derive(Clone, Copy)]
enum Pause {
    /// The host asked for it. Requests wait.
    CoolDown(Instant),
    /// The host only failed. Requests fail at once.
    Broken(Instant),
}

impl Pause {
    fn until(self) -> Instant {
        let (Self::CoolDown(until) | Self::Broken(until)) = self;
        until
    }
}

impl Host {
    /// Failures in a row after which a host gets no requests for a while (D30). Five resources with six attempts each
    /// may fail without anything being wrong with the host as a whole.
    const MOST_FAILURES: u32 = 40;

    pub(crate) fn new(origin: Origin, limits: &HostLimits) -> Self {
        Self {
            pool: Arc::new(ConnectionPool::new(limits.most_idle)),
            private_pool: Arc::new(ConnectionPool::new(limits.most_idle)),
            origin,
            share: Arc::new(Semaphore::new(limits.per_host)),
            limit: Mutex::new(AdaptiveLimit::new(limits.per_host)),
            failures: AtomicU32::new(0),
            rate: limits.rate.map(Rate::new).map(OnceLock::from).unwrap_or_default(),
            adaptive: limits.adaptive,
            pause: Mutex::new(None),
            next_attempt: Mutex::new(None),
            traffic: Mutex::default(),
            heard: Arc::default(),
        }
    }

    /// Returns the connections that a request within a scope may use.
    pub(crate) fn pool(&self, scope: &Scope) -> &Arc<ConnectionPool> {
        match scope.may_be_private(self.origin.host(), self.origin.port()) {
            true => &self.private_pool,
            false => &self.pool,
        }
    }

    /// Keeps to a pause between two requests, unless the options or an earlier word of the host set the pace.
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
        self.change_limit(|limit| limit.good(latency));
    }

    /// Records that the host did not answer in time.
    pub(crate) fn timed_out(&self) {
        self.change_limit(AdaptiveLimit::overloaded);
    }

    /// Records a transient failure. After too many in a row requests fail at once for a while.
    pub(crate) fn failed(&self) {
        if self.adaptive && self.failures.fetch_add(1, Relaxed) + 1 >= Self::MOST_FAILURES {
            self.failures.store(Self::MOST_FAILURES / 2, Relaxed);
            self.pause(Pause::Broken(Instant::now() + MAX_BACKOFF));
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

    /// Returns the time until which nothing is asked of the host: a pause, or a failed request that waits while no
    /// other is under way.
    pub(crate) fn waits_until(&self) -> Option<Instant> {
        let next = *self.next_attempt.lock().unwrap_or_else(PoisonError::into_inner);
        let is_idle = self.note(|traffic| traffic.transfers == 0);
        let pause = self.current_pause().map(Pause::until);
        pause.max(next.filter(|_| is_idle))
    }

    /// Records that the host has too much to do (429, 503): it gets no requests for as long as it asks for (D29).
    pub(crate) fn overloaded(&self, status: StatusCode, pause: Option<Duration>) {
        self.change_limit(AdaptiveLimit::overloaded);
        if let Some(pause) = pause.filter(|_| self.adaptive) {
            let (status, seconds) = (status.as_u16(), pause.as_secs());
            tracing::warn!(host = %self.origin, status, "the host is busy, retrying in {seconds} s");
            self.pause(Pause::CoolDown(Instant::now() + pause));
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

    /// Takes permits away. Those in use cannot be taken at once: the first ones that come back are kept instead.
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

    /// Begins a pause unless a longer one is under way.
    fn pause(&self, pause: Pause) {
        let mut held = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_none_or(|held| held.until() < pause.until()) {
            *held = Some(pause);
        }
    }

    /// Returns the pause that is under way.
    fn current_pause(&self) -> Option<Pause> {
        let pause = *self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        pause.filter(|pause| pause.until() > Instant::now())
    }

    /// Returns the origin of the host.
    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Waits until one more transfer may begin: first for a permit of the host, so that those who wait for a slow host
    /// hold nothing that others need, then for a seat.
    pub(crate) async fn admit(self: &Arc<Self>, seating: &Arc<Seating>) -> Result<Permit, HttpError> {
        let closed = |_| HttpError::Option { what: "The client is closed".to_owned() };
        self.wait_for_pause().await?;
        let share = Arc::clone(&self.share).acquire_owned().await.map_err(closed)?;
        self.wait_for_pause().await?;
        if let Some(rate) = self.rate.get() {
            rate.take(1).await;
        }
        let seat = seating.take(&self.origin, &self.heard).await;
        self.note(|traffic| traffic.transfers += 1);
        Ok(Permit { host: Arc::clone(self), _share: share, seat })
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

    /// Closes idle connections. Returns `true` if it has neither a connection nor a pause any more.
    pub(crate) fn close_idle(&self) -> bool {
        // Both pools, also if the first has connections left.
        let is_closed = self.pool.close_idle() & self.private_pool.close_idle();
        is_closed && self.current_pause().is_none()
    }

    async fn wait_for_pause(&self) -> Result<(), HttpError> {
        // A pause may be prolonged while it is waited for.
        while let Some(pause) = self.current_pause() {
            match pause {
                Pause::CoolDown(until) => sleep_until(until).await,
                Pause::Broken(until) => {
                    let (host, pause) = (self.origin.to_string(), until - Instant::now());
                    return Err(HttpError::HostDown { host, pause });
                }
            }
        }
        Ok(())
    }
}
