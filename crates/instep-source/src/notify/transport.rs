//! The ways in which notifications reach their subscribers.

use std::sync::Arc;

use bytes::Bytes;

use super::channel::NotificationChannel;

/// A way on which notifications are sent.
///
/// # Contract
/// Returns at once: it waits for no receiver. A failure is logged and not returned, so that it keeps no message from the
/// other ways.
pub(super) trait Transport: Send {
    /// Sends a document to the listeners of a channel.
    fn send(&self, channel: &Arc<NotificationChannel>, document: &Bytes);
}

/// WebSockets that are open.
pub(super) struct Listeners;

impl Transport for Listeners {
    fn send(&self, channel: &Arc<NotificationChannel>, document: &Bytes) {
        channel.send(document);
    }
}
