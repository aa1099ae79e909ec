//! The places for connections: their number in all and for one address, and the connection that is closed when they
//! run out.
//!
//! A connection without a request in flight is idle. When places run out, the connection that has been idle longest
//! is closed, so that silent connections cannot block others (C6).

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// The bits of an IPv6 address that one customer of a network has in common.
const IPV6_NETWORK: u128 = !0 << 64;

/// All places.
#[derive(Debug)]
pub(super) struct ConnectionPlaces {
    most: usize,
    most_per_address: usize,
    table: Mutex<PlaceTable>,
    /// Wakes the listener when a place becomes free, or a connection idle.
    changed: Notify,
}

#[derive(Debug, Default)]
struct PlaceTable {
    next: u64,
    held: BTreeMap<u64, HeldPlace>,
    /// The idle connections, the one that has been idle longest first.
    idle: BTreeMap<u64, u64>,
    by_address: BTreeMap<IpAddr, usize>,
}

/// One connection that holds a place.
#[derive(Debug)]
struct HeldPlace {
    address: Option<IpAddr>,
    in_flight: usize,
    /// Its key among the idle ones; `None` while a request is in flight.
    idle: Option<u64>,
    given_up: Arc<Notify>,
}

impl ConnectionPlaces {
    pub(super) fn new(most: usize, most_per_address: usize) -> Arc<Self> {
        let table = Mutex::new(PlaceTable::default());
        Arc::new(Self { most, most_per_address, table, changed: Notify::new() })
    }

    /// Waits until there is a free place. Closes the connection that has been idle longest if there is none.
    pub(super) async fn free(&self) {
        loop {
            {
                let mut table = self.table();
                if table.held.len() < self.most || table.give_up_idle(|_| true) {
                    return;
                }
            }
            self.changed.notified().await;
        }
    }

    /// Closes the connection that has been idle longest, for its descriptor.
    pub(super) fn close_idle(&self) {
        self.table().give_up_idle(|_| true);
    }

    /// Gives a place to a connection from an address; `None` if that address has all its places, with a request in
    /// flight in each. Loopback addresses are not limited, because a proxy behind them represents many clients.
    pub(super) fn take(self: &Arc<Self>, address: Option<IpAddr>) -> Option<Arc<ConnectionPlace>> {
        let address = address.map(network).filter(|address| !address.is_loopback());
        let mut table = self.table();
        if let Some(address) = address
            && table.by_address.get(&address).is_some_and(|held| *held >= self.most_per_address)
            && !table.give_up_idle(|held| held.address == Some(address))
        {
            return None;
        }
        let (number, given_up) = (table.number(), Arc::new(Notify::new()));
        let held = HeldPlace { address, in_flight: 0, idle: None, given_up: Arc::clone(&given_up) };
        table.held.insert(number, held);
        if let Some(address) = address {
            *table.by_address.entry(address).or_default() += 1;
        }
        table.become_idle(number);
        Some(Arc::new(ConnectionPlace { places: Arc::clone(self), number, given_up, begun: Notify::new() }))
    }

    fn table(&self) -> MutexGuard<'_, PlaceTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PlaceTable {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn become_idle(&mut self, number: u64) {
        let key = self.number();
        if let Some(held) = self.held.get_mut(&number) {
            held.idle = Some(key);
            self.idle.insert(key, number);
        }
    }

    /// Takes the place of the connection that has been idle longest, among those for which `may` returns `true`;
    /// `false` if none is idle.
    fn give_up_idle(&mut self, may: impl Fn(&HeldPlace) -> bool) -> bool {
        let oldest = self.idle.values().find(|number| self.held.get(number).is_some_and(&may)).copied();
        let given_up = oldest.and_then(|number| self.release(number));
        if let Some(held) = &given_up {
            held.given_up.notify_one();
        }
        given_up.is_some()
    }

    fn release(&mut self, number: u64) -> Option<HeldPlace> {
        let held = self.held.remove(&number)?;
        if let Some(key) = held.idle {
            self.idle.remove(&key);
        }
        if let Some(address) = held.address
            && let Some(count) = self.by_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&address);
            }
        }
        Some(held)
    }
}

/// The place of one connection; free again when it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionPlace {
    places: Arc<ConnectionPlaces>,
    number: u64,
    given_up: Arc<Notify>,
    begun: Notify,
}

impl ConnectionPlace {
    /// Waits until the connection has to give up its place.
    pub(super) async fn given_up(&self) {
        self.given_up.notified().await;
    }

    /// Waits until the first request has begun.
    pub(super) async fn begun(&self) {
        self.begun.notified().await;
    }

    /// Keeps the place until the guard is dropped, at the end of the answer.
    pub(super) fn request(self: &Arc<Self>) -> AnswerInFlight {
        self.begun.notify_one();
        let mut table = self.places.table();
        let idle = table.held.get_mut(&self.number).and_then(|held| {
            held.in_flight += 1;
            held.idle.take()
        });
        if let Some(key) = idle {
            table.idle.remove(&key);
        }
        AnswerInFlight(Arc::clone(self))
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        drop(self.places.table().release(self.number));
        self.places.changed.notify_one();
    }
}

/// A request in flight, until the last byte of its answer.
#[derive(Debug)]
pub(super) struct AnswerInFlight(Arc<ConnectionPlace>);

impl Drop for AnswerInFlight {
    fn drop(&mut self) {
        let mut table = self.0.places.table();
        let is_idle = table.held.get_mut(&self.0.number).is_some_and(|held| {
            held.in_flight -= 1;
            held.in_flight == 0
        });
        if is_idle {
            table.become_idle(self.0.number);
            self.0.places.changed.notify_one();
        }
    }
}

/// Returns the identity of a client: its address, or the network of an IPv6 address, in which it can choose freely.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & IPV6_NETWORK))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use super::*;

    fn is_ready(future: impl Future<Output = ()>) -> bool {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::pin!(future).poll(&mut context).is_ready()
    }

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn c6_the_connection_that_is_idle_longest_gives_up_its_place() {
        let places = ConnectionPlaces::new(2, 2);
        let (first, second) = (places.take(None).unwrap(), places.take(None).unwrap());
        // The first was idle for longer until its request ended.
        drop(first.request());
        assert!(is_ready(places.free()));
        assert!(is_ready(second.given_up()) && !is_ready(first.given_up()));
    }

    #[test]
    fn c6_a_connection_with_a_request_in_flight_keeps_its_place() {
        let places = ConnectionPlaces::new(1, 1);
        let busy = places.take(None).unwrap();
        let requests = (busy.request(), busy.request());
        assert!(!is_ready(places.free()));
        drop(requests.0);
        assert!(!is_ready(places.free()));
        drop(requests.1);
        assert!(is_ready(places.free()) && is_ready(busy.given_up()));
        drop(busy);
        assert!(is_ready(places.free()));
        assert!(places.table().held.is_empty() && places.table().idle.is_empty());
    }

    #[test]
    fn c6_one_address_has_a_limit_of_its_own_and_a_proxy_has_none() {
        let places = ConnectionPlaces::new(100, 2);
        let first = places.take(address("2001:db8::1")).unwrap();
        let second = places.take(address("2001:db8::2")).unwrap();
        let (busy, others) = (second.request(), places.take(address("2001:db8:1::1")).unwrap());
        let third = places.take(address("2001:db8::3")).unwrap();
        assert!(is_ready(first.given_up()) && !is_ready(second.given_up()));
        let also_busy = third.request();
        assert!(places.take(address("2001:db8::4")).is_none());
        drop((busy, second));
        assert!(places.take(address("2001:db8::4")).is_some());
        drop((also_busy, third, first));
        let behind_a_proxy: Vec<_> = (0..50).map(|_| places.take(address("127.0.0.1")).unwrap()).collect();
        assert!(behind_a_proxy.iter().all(|place| !is_ready(place.given_up())));
        drop((behind_a_proxy, others));
        assert!(places.table().by_address.is_empty());
    }
}
