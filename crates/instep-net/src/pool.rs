//! The open connections to one host, kept from request to request.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::Response;
use http_body::{Body as _, Frame};
use http_body_util::Full;
use hyper::{body::Incoming, client::conn::http2};

use crate::connection::{Connection, OutgoingRequest, Single, Unanswered};

/// The open connections to one host.
#[derive(Default)]
pub(crate) struct ConnectionPool {
    connections: Mutex<Connections>,
    most_idle: usize,
}

#[derive(Default)]
struct Connections {
    /// Idle HTTP/1 connections, each with the time since which it is idle; the newest is last.
    idle: Vec<(Box<Single>, Instant)>,
    /// A connection of HTTP/2 and the moment at which it was used last.
    shared: Option<(http2::SendRequest<Full<Bytes>>, Instant)>,
}

impl ConnectionPool {
    /// The time after which an unused connection is closed. Servers close theirs after 5 s (Apache) to 75 s (nginx);
    /// longer is wasted.
    pub(crate) const IDLE: Duration = Duration::from_secs(90);

    /// Keeps at most `most_idle` connections without a request.
    pub(crate) fn new(most_idle: usize) -> Self {
        Self { connections: Mutex::default(), most_idle }
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a connection that can be used at once. The one used last comes first, because it is the least likely to
    /// have been closed.
    pub(crate) fn take(&self) -> Option<Connection> {
        let mut connections = self.lock();
        connections.close_idle();
        if let Some((shared, used)) = &mut connections.shared {
            *used = Instant::now();
            return Some(Connection::Shared(shared.clone()));
        }
        connections.idle.pop().map(|(single, _)| Connection::Single(single))
    }

    /// Closes connections that were not used for a while. Returns `true` if none is left.
    pub(crate) fn close_idle(&self) -> bool {
        let mut connections = self.lock();
        connections.close_idle();
        connections.idle.is_empty() && connections.shared.is_none()
    }

    fn keep(&self, single: Box<Single>) {
        let mut connections = self.lock();
        if connections.idle.len() < self.most_idle {
            connections.idle.push((single, Instant::now()));
        }
    }

    /// Lets later requests use a new connection as well if it can carry several. Returns `true` if it can.
    pub(crate) fn share(&self, connection: &Connection) -> bool {
        let Connection::Shared(sender) = connection else { return false };
        // It replaces an earlier one, which the server may be closing.
        self.lock().shared = Some((sender.clone(), Instant::now()));
        true
    }

    /// Sends a request and waits for the headers of its answer. The connection is returned here at the end of the
    /// body.
    pub(crate) async fn send(
        self: &Arc<Self>,
        connection: Connection,
        message: OutgoingRequest,
    ) -> Result<Response<PooledBody>, Box<Unanswered>> {
        let (answer, single) = connection.send(message).await?;
        let lease = single.map(|single| ConnectionLease { single: Some(single), pool: Arc::clone(self) });
        Ok(answer.map(|incoming| PooledBody { incoming, lease, has_ended: false }))
    }
}

impl Connections {
    fn close_idle(&mut self) {
        let now = Instant::now();
        let is_stale = |since: Instant| now.duration_since(since) > ConnectionPool::IDLE;
        let stale = self.idle.partition_point(|(_, since)| is_stale(*since));
        self.idle.drain(..stale);
        // Requests in flight keep their connection until they are done.
        self.shared.take_if(|(shared, used)| shared.is_closed() || is_stale(*used));
    }
}

/// A body and its connection, which is free again at the end of the body.
pub(crate) struct PooledBody {
    incoming: Incoming,
    lease: Option<ConnectionLease>,
    /// `true` once a further piece was requested and there was none.
    has_ended: bool,
}

impl PooledBody {
    /// Returns `true` if everything has arrived. Hyper knows that of a body with a length before its end is asked for,
    /// and of one in chunks, or one that ends with its connection, not even afterwards.
    pub(crate) fn is_end(&self) -> bool {
        self.has_ended || self.incoming.is_end_stream()
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
            self.has_ended = true;
            self.lease = None;
        }
        frame
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
