//! The open connections to one host, kept from request to request.

use std::{
    collections::BTreeMap,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::Response;
use http_body::{Body as _, Frame};
use hyper::body::Incoming;

use crate::connection::{Connection, Multiplexed, OutgoingRequest, Single, Unanswered};

/// The open connections to one host.
pub(crate) struct ConnectionPool {
    connections: Mutex<Connections>,
    most_idle: usize,
    all: Arc<KeptConnections>,
}

/// The connections that are kept, of all hosts together, the one that was used least recently first.
///
/// A fleet visits thousands of hosts within the time for which an unused connection is kept. Each connection takes a
/// descriptor and about 30 KiB.
pub(crate) struct KeptConnections {
    order: Mutex<KeptOrder>,
    most: usize,
}

#[derive(Default)]
struct KeptOrder {
    last: u64,
    pools: BTreeMap<u64, Weak<ConnectionPool>>,
}

#[derive(Default)]
struct Connections {
    /// Idle HTTP/1 connections; the newest is last.
    idle: Vec<KeptConnection<Box<Single>>>,
    /// A connection of HTTP/2, also while it is in use.
    shared: Option<KeptConnection<Multiplexed>>,
}

/// A connection, the moment at which it was used last, and its number among those of all hosts.
struct KeptConnection<T> {
    connection: T,
    used: Instant,
    number: u64,
}

impl ConnectionPool {
    /// The time after which an unused connection is closed. Servers close theirs after 5 s (Apache) to 75 s (nginx);
    /// longer is wasted.
    pub(crate) const IDLE: Duration = Duration::from_secs(90);

    /// Keeps at most `most_idle` connections without a request, and no more of all hosts than `all` has room for.
    pub(crate) fn new(most_idle: usize, all: Arc<KeptConnections>) -> Self {
        Self { connections: Mutex::default(), most_idle, all }
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a connection that can be used at once. The one used last comes first, because it is the least likely to
    /// have been closed.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Connection> {
        let mut connections = self.lock();
        connections.close_idle(&self.all);
        if let Some(shared) = &mut connections.shared {
            shared.used = Instant::now();
            shared.number = self.all.renew(shared.number, self);
            return Some(Connection::Shared(shared.connection.clone()));
        }
        let kept = connections.idle.pop()?;
        self.all.remove(kept.number);
        Some(Connection::Single(kept.connection))
    }

    /// Closes connections that were not used for a while. Returns `true` if none is left.
    pub(crate) fn close_idle(&self) -> bool {
        let mut connections = self.lock();
        connections.close_idle(&self.all);
        connections.idle.is_empty() && connections.shared.is_none()
    }

    fn keep(self: &Arc<Self>, single: Box<Single>) {
        {
            let mut connections = self.lock();
            if connections.idle.len() >= self.most_idle {
                return;
            }
            let number = self.all.add(self);
            connections.idle.push(KeptConnection { connection: single, used: Instant::now(), number });
        }
        self.all.close_surplus();
    }

    /// Closes a connection, unless it was taken meanwhile. A request in flight over HTTP/2 keeps it until it is done.
    fn close(&self, number: u64) {
        let mut connections = self.lock();
        connections.idle.retain(|kept| kept.number != number);
        connections.shared.take_if(|kept| kept.number == number);
    }

    /// Lets later requests use a new connection as well if it can carry several. Returns `true` if it can.
    pub(crate) fn share(self: &Arc<Self>, connection: &Connection) -> bool {
        let Connection::Shared(multiplexed) = connection else { return false };
        {
            let mut connections = self.lock();
            let number = self.all.add(self);
            let shared = KeptConnection { connection: multiplexed.clone(), used: Instant::now(), number };
            // It replaces an earlier one, which the server may be closing.
            if let Some(former) = connections.shared.replace(shared) {
                self.all.remove(former.number);
            }
        }
        self.all.close_surplus();
        true
    }

    /// Sends a request and waits for the headers of its answer. The connection is returned here at the end of the
    /// body.
    pub(crate) async fn send(
        self: &Arc<Self>,
        connection: Connection,
        message: OutgoingRequest,
    ) -> Result<Response<PooledBody>, Box<Unanswered>> {
        let multiplexed = connection.multiplexed();
        let (answer, single) = connection.send(message).await?;
        let lease = single.map(|single| ConnectionLease { single: Some(single), pool: Arc::clone(self) });
        Ok(answer.map(|incoming| PooledBody { incoming, lease, multiplexed, has_ended: false }))
    }
}

impl Connections {
    fn close_idle(&mut self, all: &KeptConnections) {
        let now = Instant::now();
        let is_stale = |used: Instant| now.duration_since(used) > ConnectionPool::IDLE;
        let stale = self.idle.partition_point(|kept| is_stale(kept.used));
        self.idle.drain(..stale).for_each(|kept| all.remove(kept.number));
        // Requests in flight keep their connection until they are done.
        let ended = self.shared.take_if(|kept| kept.connection.is_over() || is_stale(kept.used));
        if let Some(kept) = ended {
            all.remove(kept.number);
        }
    }
}

impl KeptConnections {
    /// The number up to which connections are kept, unless there may be more transfers: a quarter of the usual limit of
    /// descriptors.
    const ENOUGH: usize = 256;

    /// Keeps connections for a number of transfers at a time.
    pub(crate) fn new(transfers: usize) -> Self {
        Self { order: Mutex::default(), most: transfers.max(Self::ENOUGH) }
    }

    fn lock(&self) -> MutexGuard<'_, KeptOrder> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a connection of a host as the one used last. Returns its number.
    fn add(&self, pool: &Arc<ConnectionPool>) -> u64 {
        let mut order = self.lock();
        order.last += 1;
        let number = order.last;
        order.pools.insert(number, Arc::downgrade(pool));
        number
    }

    /// Stops counting a connection.
    fn remove(&self, number: u64) {
        self.lock().pools.remove(&number);
    }

    /// Counts a connection that is used again as the one used last. Returns its new number.
    fn renew(&self, number: u64, pool: &Arc<ConnectionPool>) -> u64 {
        self.remove(number);
        self.add(pool)
    }

    /// Takes out the one used least recently, if there are too many.
    fn surplus(&self) -> Option<(u64, Weak<ConnectionPool>)> {
        let mut order = self.lock();
        if order.pools.len() > self.most { order.pools.pop_first() } else { None }
    }

    /// Closes connections until there are no more than allowed. No lock is held meanwhile: they are of any host.
    fn close_surplus(&self) {
        while let Some((number, pool)) = self.surplus() {
            if let Some(pool) = pool.upgrade() {
                pool.close(number);
            }
        }
    }
}

/// A body and its connection, which is free again at the end of the body.
pub(crate) struct PooledBody {
    incoming: Incoming,
    lease: Option<ConnectionLease>,
    /// The connection, if it carries other answers too.
    multiplexed: Option<Multiplexed>,
    /// `true` once a further piece was requested, and there was none because all had arrived.
    has_ended: bool,
}

impl PooledBody {
    /// Returns `true` if everything has arrived. Hyper knows that of a body with a length before its end is asked for,
    /// and of one in chunks, or one that ends with its connection, not even afterwards.
    pub(crate) fn is_end(&self) -> bool {
        self.has_ended || self.incoming.is_end_stream()
    }

    /// Lets no further request use the connection, over which the rest of the body does not come.
    pub(crate) fn abandon(&self) {
        self.multiplexed.iter().for_each(Multiplexed::abandon);
    }

    pub(crate) fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let single = self.lease.as_mut().and_then(|lease| lease.single.as_mut());
        let frame = match single {
            Some(single) => single.poll_frame(&mut self.incoming, context),
            None => Pin::new(&mut self.incoming).poll_frame(context),
        };
        if matches!(frame, Poll::Ready(None)) {
            // Over HTTP/2, hyper takes an answer that the server gives up without naming an error for a complete one.
            self.has_ended = self.multiplexed.is_none() || self.incoming.is_end_stream();
            self.lease = None;
        }
        frame
    }
}

impl fmt::Debug for KeptConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptConnections").field("most", &self.most).finish_non_exhaustive()
    }
}

impl fmt::Debug for PooledBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledBody").field("end", &self.is_end()).finish_non_exhaustive()
    }
}

/// A connection in use. Dropping it returns the connection to the pool if it can be used again.
struct ConnectionLease {
    single: Option<Box<Single>>,
    pool: Arc<ConnectionPool>,
}

impl Drop for ConnectionLease {
    fn drop(&mut self) {
        let Some(mut single) = self.single.take() else { return };
        // The rest of a short body has usually arrived: reading it costs less than another connection.
        if !single.is_free() {
            single.catch_up();
        }
        if single.is_free() {
            self.pool.keep(single);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o166_of_all_hosts_only_so_many_connections_are_kept() {
        let all = Arc::new(KeptConnections::new(2));
        let pools = [(); 2].map(|()| Arc::new(ConnectionPool::new(8, Arc::clone(&all))));
        let mut numbers: Vec<_> =
            (0..KeptConnections::ENOUGH).map(|place| all.add(&pools[place % pools.len()])).collect();
        assert!(all.surplus().is_none());
        numbers[0] = all.renew(numbers[0], &pools[0]);
        assert!(all.surplus().is_none(), "it is counted once");
        let last = all.add(&pools[0]);
        let (number, pool) = all.surplus().unwrap();
        assert_eq!(number, numbers[1], "the first one was used again");
        assert!(Arc::ptr_eq(&pool.upgrade().unwrap(), &pools[1]));
        assert!(all.surplus().is_none());
        all.remove(last);
        all.add(&pools[1]);
        assert!(all.surplus().is_none());
    }
}
