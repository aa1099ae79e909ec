//! Politeness: what is known of each host, and how hard it may be used.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until},
};

use super::{HttpError, HttpOptions, Origin, Traffic, open::Open, pace::Pace, width::Width};

/// The right to one transfer, given back when dropped.
pub(crate) struct Permits {
    host: Arc<Host>,
    _share: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Permits {
    /// Bytes of a body arrived.
    pub(crate) fn count(&self, bytes: u64) {
        self.host.note(|traffic| traffic.bytes += bytes);
    }
}

impl Drop for Permits {
    fn drop(&mut self) {
        self.host.note(|traffic| traffic.transfers -= 1);
    }
}

/// Every host that was asked, by origin.
pub(crate) struct Hosts {
    hosts: Mutex<BTreeMap<Origin, Arc<Host>>>,
    all: Arc<Semaphore>,
    per_host: usize,
    rate: Option<f64>,
}

/// One host: the connections to it, its share of transfers, which shrinks when it is overloaded, and when to leave it alone.
pub(crate) struct Host {
    pub(crate) open: Open,
    origin: Origin,
    share: Arc<Semaphore>,
    width: Mutex<Width>,
    failures: AtomicU32,
    rate: Option<Pace>,
    rest: Mutex<Option<Rest>>,
    traffic: Mutex<Traffic>,
}

/// A time in which a host is left alone.
#[derive(Clone, Copy)]
enum Rest {
    /// It asked for it: requests wait.
    CoolDown(Instant),
    /// It fails: requests fail at once.
    Broken(Instant),
}

impl Host {
    /// Failures in a row after which a host is left alone for a while (D30).
    const MOST_FAILURES: u32 = 40;

    fn new(origin: Origin, hosts: &Hosts) -> Self {
        Self {
            open: Open::default(),
            origin,
            share: Arc::new(Semaphore::new(hosts.per_host)),
            width: Mutex::new(Width::new(hosts.per_host)),
            failures: AtomicU32::new(0),
            rate: hosts.rate.map(Pace::new),
            rest: Mutex::new(None),
            traffic: Mutex::default(),
        }
    }

    /// Notes what was asked for and what came of it.
    pub(crate) fn note<T>(&self, note: impl FnOnce(&mut Traffic) -> T) -> T {
        note(&mut self.traffic.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A response came that is no failure, so long after it was asked for.
    pub(crate) fn succeeded(&self, latency: Duration) {
        self.failures.store(0, Relaxed);
        self.change_width(|width| width.good(latency));
    }

    /// It was too slow to answer.
    pub(crate) fn timed_out(&self) {
        self.change_width(Width::too_much);
    }

    /// A transient failure; too many in a row break the circuit.
    pub(crate) fn failed(&self) {
        if self.failures.fetch_add(1, Relaxed) + 1 >= Self::MOST_FAILURES {
            self.failures.store(Self::MOST_FAILURES / 2, Relaxed);
            self.rest(Rest::Broken(Instant::now() + HttpOptions::MOST_BACKOFF));
        }
    }

    /// It has too much to do (429, 503): it is left alone as long as it asks for (D29).
    pub(crate) fn overloaded(&self, pause: Option<Duration>) {
        self.change_width(Width::too_much);
        if let Some(pause) = pause {
            tracing::warn!(host = %self.origin, seconds = pause.as_secs(), "asks to be left alone");
            self.rest(Rest::CoolDown(Instant::now() + pause));
        }
    }

    fn change_width(&self, change: impl FnOnce(&mut Width)) {
        let mut width = self.width.lock().unwrap_or_else(PoisonError::into_inner);
        let before = width.now();
        change(&mut width);
        match width.now() {
            now if now > before => self.share.add_permits(now - before),
            now if now < before => self.take_away(before - now),
            _ => {}
        }
    }

    /// Permits in use cannot be taken away: those that come back first are kept then.
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

    fn rest(&self, rest: Rest) {
        let mut held = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let until = |rest: &Rest| match rest {
            Rest::CoolDown(until) | Rest::Broken(until) => *until,
        };
        if held.as_ref().is_none_or(|held| until(held) < until(&rest)) {
            *held = Some(rest);
        }
    }

    async fn rested(&self) -> Result<(), HttpError> {
        loop {
            let now = Instant::now();
            let rest = *self.rest.lock().unwrap_or_else(PoisonError::into_inner);
            match rest {
                Some(Rest::CoolDown(until)) if until > now => sleep_until(until).await,
                Some(Rest::Broken(until)) if until > now => {
                    let host = self.origin.to_string();
                    return Err(HttpError::HostDown { host, pause: until - now });
                }
                _ => return Ok(()),
            }
        }
    }
}

impl Hosts {
    pub(crate) fn new(options: &HttpOptions) -> Self {
        Self {
            hosts: Mutex::new(BTreeMap::new()),
            all: Arc::new(Semaphore::new(options.transfers.max(1))),
            per_host: options.per_host.clamp(1, options.transfers.max(1)),
            rate: options.rate,
        }
    }

    pub(crate) fn get(&self, origin: &Origin) -> Arc<Host> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = hosts.get(origin) {
            return Arc::clone(host);
        }
        let host = Arc::new(Host::new(origin.clone(), self));
        hosts.insert(origin.clone(), Arc::clone(&host));
        host
    }

    /// Waits until one more transfer from this host is in order. The host's share comes first, so that those who wait for one slow
    /// host hold nothing that others need.
    pub(crate) async fn admit(&self, host: &Arc<Host>) -> Result<Permits, HttpError> {
        let closed = |_| HttpError::Option { what: "The client is closed".to_owned() };
        host.rested().await?;
        let share = Arc::clone(&host.share).acquire_owned().await.map_err(closed)?;
        host.rested().await?;
        if let Some(rate) = &host.rate {
            rate.take(1).await;
        }
        let all = Arc::clone(&self.all).acquire_owned().await.map_err(closed)?;
        host.note(|traffic| traffic.transfers += 1);
        Ok(Permits { host: Arc::clone(host), _share: share, _all: all })
    }

    /// What each host was asked for since this was called last.
    pub(crate) fn take_traffic(&self) -> Vec<(String, Traffic)> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = hosts.values().map(|host| {
            let most_transfers = host.width.lock().unwrap_or_else(PoisonError::into_inner).now();
            let taken = host.note(|traffic| {
                let transfers = traffic.transfers;
                std::mem::replace(traffic, Traffic { transfers, ..Traffic::default() })
            });
            (host.origin.to_string(), Traffic { most_transfers, ..taken })
        });
        taken.filter(|(_, traffic)| !traffic.is_nothing()).collect()
    }
}

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hosts").field("per_host", &self.per_host).finish_non_exhaustive()
    }
}
