use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http2;

use super::connection::{Connection, Single};

/// The connections to one host that can be used at once.
#[derive(Default)]
pub(crate) struct Open(Mutex<Connections>);

#[derive(Default)]
struct Connections {
    /// Those of HTTP/1 that nobody uses, and since when; the newest last.
    free: Vec<(Box<Single>, Instant)>,
    shared: Option<http2::SendRequest<Full<Bytes>>>,
}

impl Open {
    /// How long a connection is kept that nobody uses.
    const KEPT: Duration = Duration::from_secs(90);

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that can be used, the last one used first.
    pub(crate) fn take(&self) -> Option<Connection> {
        let mut connections = self.lock();
        if let Some(shared) = connections.shared.take_if(|shared| shared.is_closed()) {
            drop(shared);
        }
        if let Some(shared) = &connections.shared {
            return Some(Connection::Shared(shared.clone()));
        }
        let now = Instant::now();
        let stale = connections.free.partition_point(|(_, since)| now.duration_since(*since) > Self::KEPT);
        connections.free.drain(..stale);
        connections.free.pop().map(|(single, _)| Connection::Single(single))
    }

    /// Keeps a connection that is free.
    pub(crate) fn keep(&self, single: Box<Single>) {
        self.lock().free.push((single, Instant::now()));
    }

    /// Lets others use a new connection too, where it is one for several.
    pub(crate) fn share(&self, connection: &Connection) {
        if let Connection::Shared(sender) = connection {
            self.lock().shared.get_or_insert_with(|| sender.clone());
        }
    }
}
