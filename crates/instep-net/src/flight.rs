//! Requests under way: shown while they run, logged when they end.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use tokio::time::Instant;

/// A request that waits for its answer, or whose answer is arriving.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InFlight {
    /// Its URI.
    pub uri: Arc<str>,
    /// Bytes of the body that have arrived.
    pub received: u64,
    /// Bytes of the complete body, if the server states them.
    pub length: Option<u64>,
}

/// All requests under way of a client.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    started: AtomicU64,
    under_way: Mutex<BTreeMap<u64, Arc<Counts>>>,
}

#[derive(Debug)]
struct Counts {
    uri: Arc<str>,
    received: AtomicU64,
    /// The status and the stated length, once there is an answer.
    answer: OnceLock<(u16, Option<u64>)>,
}

impl Counts {
    fn length(&self) -> Option<u64> {
        self.answer.get().and_then(|(_, length)| *length)
    }
}

/// A request, from its sending to the end of the response body. It also counts while the host does not answer (P10).
#[derive(Debug)]
pub(crate) struct Flight {
    flights: Arc<Flights>,
    number: u64,
    counts: Arc<Counts>,
    asked: Instant,
}

impl Flights {
    /// Starts to count a request that is sent at `asked`.
    pub(crate) fn start(self: &Arc<Self>, uri: Arc<str>, asked: Instant) -> Flight {
        let number = self.started.fetch_add(1, Relaxed);
        let counts = Arc::new(Counts { uri, received: AtomicU64::new(0), answer: OnceLock::new() });
        self.lock().insert(number, Arc::clone(&counts));
        Flight { flights: Arc::clone(self), number, counts, asked }
    }

    /// Returns the requests under way, the oldest first.
    pub(crate) fn under_way(&self) -> Vec<InFlight> {
        let of = |counts: &Arc<Counts>| InFlight {
            uri: Arc::clone(&counts.uri),
            received: counts.received.load(Relaxed),
            length: counts.length(),
        };
        self.lock().values().map(of).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Counts>>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    /// Notes the status of the answer, and the length that it states.
    pub(crate) fn answered(&self, status: u16, length: Option<u64>) {
        // The value is set once: there is one answer to a request.
        let _ = self.counts.answer.set((status, length));
    }

    /// Counts bytes that have arrived.
    pub(crate) fn count(&self, bytes: u64) {
        self.counts.received.fetch_add(bytes, Relaxed);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.flights.lock().remove(&self.number);
        // A request without a response is logged where it failed.
        let Some((status, _)) = self.counts.answer.get() else { return };
        tracing::debug!(
            status,
            bytes = self.counts.received.load(Relaxed),
            ms = self.asked.elapsed().as_millis() as u64,
            uri = %self.counts.uri,
            "request"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn p6_a_request_is_under_way_until_its_body_has_ended() {
        let flights = Arc::new(Flights::default());
        let first = flights.start("http://a/1".into(), Instant::now());
        let second = flights.start("http://a/2".into(), Instant::now());
        first.answered(200, Some(10));
        first.count(4);
        let seen: Vec<_> = flights.under_way().iter().map(|it| (it.received, it.length)).collect();
        assert_eq!(seen, [(4, Some(10)), (0, None)]);
        drop(first);
        assert_eq!(flights.under_way().len(), 1);
        drop(second);
        assert_eq!(flights.under_way(), []);
    }
}
