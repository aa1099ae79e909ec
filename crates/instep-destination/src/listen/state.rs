//! The state of a channel, shared by its transports and its readers.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use resourcesync::Uri;
use tokio::time::Instant;

/// The transports over which a channel is open now.
#[derive(Debug, Default)]
pub(super) struct ChannelState {
    socket: AtomicBool,
    has_been_open: AtomicBool,
    /// The topic with a subscription, and the end of its lease.
    lease: Mutex<Option<(Uri, Instant)>>,
}

impl ChannelState {
    /// Records that the WebSocket is open or closed. Returns `true` if it was open before.
    pub(super) fn set_connected(&self, is_connected: bool) -> bool {
        self.has_been_open.fetch_or(is_connected, Relaxed);
        self.socket.swap(is_connected, Relaxed)
    }

    /// Returns `true` if the WebSocket is open.
    pub(super) fn is_connected(&self) -> bool {
        self.socket.load(Relaxed)
    }

    /// Records the lease that a hub granted. Returns `true` if there was one before.
    pub(super) fn set_leased(&self, topic: &Uri, until: Instant) -> bool {
        self.has_been_open.store(true, Relaxed);
        self.held().replace((topic.clone(), until)).is_some()
    }

    /// Records the end of the lease. Returns `true` if there was one.
    pub(super) fn end_lease(&self) -> bool {
        self.held().take().is_some()
    }

    /// Returns the topic with a subscription, and the remaining time of its lease.
    pub(super) fn lease(&self) -> Option<(Uri, Duration)> {
        let (topic, until) = self.held().clone()?;
        Some((topic, until.saturating_duration_since(Instant::now())))
    }

    /// Returns `true` if a transport is open.
    pub(super) fn is_open(&self) -> bool {
        self.is_connected() || self.held().is_some()
    }

    /// Returns `true` if a transport was open, and none is any more.
    pub(super) fn is_lost(&self) -> bool {
        self.has_been_open.load(Relaxed) && !self.is_open()
    }

    fn held(&self) -> MutexGuard<'_, Option<(Uri, Instant)>> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
