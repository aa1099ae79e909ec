//! By which transports a channel is heard now, as those who hear it and those who ask about it share it.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use resourcesync::Uri;
use tokio::time::Instant;

/// By which transports a channel is heard now.
#[derive(Debug, Default)]
pub(super) struct State {
    socket: AtomicBool,
    /// The topic that is subscribed to, and until when.
    lease: Mutex<Option<(Uri, Instant)>>,
}

impl State {
    /// The WebSocket is open, or no longer; whether it was before.
    pub(super) fn set_connected(&self, is_connected: bool) -> bool {
        self.socket.swap(is_connected, Relaxed)
    }

    /// Whether the WebSocket is open.
    pub(super) fn is_connected(&self) -> bool {
        self.socket.load(Relaxed)
    }

    /// A hub has promised to deliver until then; whether one had before.
    pub(super) fn set_leased(&self, topic: &Uri, until: Instant) -> bool {
        self.held().replace((topic.clone(), until)).is_some()
    }

    /// No hub delivers any more; whether one did before.
    pub(super) fn end_lease(&self) -> bool {
        self.held().take().is_some()
    }

    /// The topic that is subscribed to, and what is left of its lease.
    pub(super) fn lease(&self) -> Option<(Uri, Duration)> {
        let (topic, until) = self.held().clone()?;
        Some((topic, until.saturating_duration_since(Instant::now())))
    }

    /// Whether somebody tells what happens.
    pub(super) fn is_heard(&self) -> bool {
        self.is_connected() || self.held().is_some()
    }

    fn held(&self) -> MutexGuard<'_, Option<(Uri, Instant)>> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
