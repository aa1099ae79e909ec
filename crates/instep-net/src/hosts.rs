//! Politeness: every host in use, and the transfers of all of them together.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use crate::{
    error::HttpError,
    gate::RequestGate,
    host::{Host, HostLimits, Permit},
    options::HttpOptions,
    origin::Origin,
    pool::{ConnectionPool, KeptConnections},
    seating::Seating,
    traffic::Traffic,
};

/// Every host in use, by its origin.
pub(crate) struct Hosts {
    hosts: Mutex<BTreeMap<Origin, Arc<Host>>>,
    seating: Arc<Seating>,
    limits: HostLimits,
    gate: Option<RequestGate>,
}

impl Hosts {
    pub(crate) fn new(options: &HttpOptions) -> Arc<Self> {
        let transfers = options.transfers.max(1);
        let per_host = options.per_host.clamp(1, transfers);
        Arc::new(Self {
            hosts: Mutex::new(BTreeMap::new()),
            seating: Seating::new(transfers),
            limits: HostLimits {
                per_host,
                streams: options.streams.clamp(per_host, transfers),
                most_idle: options.idle_per_host.unwrap_or(per_host),
                rate: options.rate.filter(|rate| *rate > 0.0),
                adaptive: options.adaptive,
                seats: options.seats.clone(),
                kept: Arc::new(KeptConnections::new(transfers)),
            },
            gate: options.gate.clone(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Origin, Arc<Host>>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(self: &Arc<Self>, origin: &Origin) -> Arc<Host> {
        let mut hosts = self.lock();
        if let Some(host) = hosts.get(origin) {
            return Arc::clone(host);
        }
        if hosts.is_empty() {
            tokio::spawn(forget_unused(Arc::downgrade(self)));
        }
        let host = Arc::new(Host::new(origin.clone(), &self.limits));
        hosts.insert(origin.clone(), Arc::clone(&host));
        host
    }

    /// Returns the number of transfers from an origin that may be under way at a time.
    pub(crate) fn window(&self, origin: &Origin) -> usize {
        self.lock().get(origin).map_or(self.limits.per_host, |host| host.window())
    }

    /// Waits until one more transfer from this host may begin.
    pub(crate) async fn admit(&self, host: &Arc<Host>) -> Result<Permit, HttpError> {
        loop {
            let permit = host.admit(&self.seating).await?;
            // The gate comes last, because it may close while a transfer waits for a permit.
            if let Some(gate) = &self.gate {
                gate.pass().await;
            }
            // A process that stood still for long has lost its seats when the gate opens again.
            if permit.is_valid() {
                return Ok(permit);
            }
        }
    }

    /// Returns the hosts that get no requests for a while, each with the time that is left.
    pub(crate) fn waiting(&self) -> Vec<(String, Duration)> {
        let now = Instant::now();
        let left = |until: Instant| Some(until.saturating_duration_since(now)).filter(|left| !left.is_zero());
        let hosts = self.lock();
        let pauses = hosts
            .values()
            .filter_map(|host| Some((host.origin().to_string(), host.waits_until().and_then(left)?)));
        pauses.collect()
    }

    /// Returns the figures of each host since they were taken last.
    pub(crate) fn take_traffic(&self) -> Vec<(String, Traffic)> {
        let hosts = self.lock();
        let taken = hosts.values().map(|host| (host, host.take_traffic()));
        let shown = taken.filter(|(_, traffic)| !traffic.is_empty());
        shown.map(|(host, traffic)| (host.origin().to_string(), traffic)).collect()
    }

    /// Closes idle connections, and removes hosts without a connection, a request, a pause or a pace. Returns `false`
    /// once none is left.
    fn close_idle(&self) -> bool {
        let mut hosts = self.lock();
        hosts.retain(|_, host| !host.close_idle() || Arc::strong_count(host) > 1);
        !hosts.is_empty()
    }
}

/// Removes hosts that are no longer used. A hub delivers to thousands of hosts, and nothing else would remove them.
async fn forget_unused(hosts: Weak<Hosts>) {
    loop {
        sleep(ConnectionPool::IDLE).await;
        let goes_on = hosts.upgrade().is_some_and(|hosts| hosts.close_idle());
        if !goes_on {
            return;
        }
    }
}

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hosts").field("limits", &self.limits).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::time::timeout;

    use super::*;
    use crate::{scope::Scope, shared_seats::SharedSeats};

    #[tokio::test(start_paused = true)]
    async fn o1094_a_transfer_that_waited_at_the_gate_does_not_begin_with_a_seat_that_another_process_has() {
        let (second, origin) = (Duration::from_secs(1), Origin::parse("http://host/").unwrap());
        let (gate, seats) = (RequestGate::open_until(Instant::now()), SharedSeats::new());
        let mut options = HttpOptions::new(Scope::default());
        (options.gate, options.seats) = (Some(gate.clone()), Some(seats.clone()));
        let hosts = Hosts::new(&options);
        let host = hosts.get(&origin);
        seats.grant(&origin, 1);
        let mut admitted = pin!(hosts.admit(&host));
        assert!(timeout(second, &mut admitted).await.is_err(), "the gate is closed");
        // The process was removed by others, and begins again.
        seats.revoke();
        gate.put_off(Instant::now() + 60 * second);
        assert!(timeout(second, &mut admitted).await.is_err(), "its seat is that of another process");
        seats.grant(&origin, 1);
        drop(timeout(second, admitted).await.unwrap().unwrap());
    }
}
