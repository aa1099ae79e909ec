//! Replaces `other_servers.rs` in a build without PostgreSQL: there are none.

use std::sync::Arc;

use bytes::Bytes;

use super::{channel::NotificationChannel, hub::Hub, transport::Transport};
use crate::catalogue::Catalogue;

/// No servers.
#[derive(Clone, Debug)]
pub(super) struct OtherServers;

impl OtherServers {
    /// Returns `None`.
    pub(super) fn of(_catalogue: &Catalogue) -> Option<Self> {
        None
    }

    /// Sends nothing.
    pub(super) fn share_message(&self, _topic: &str, _body: Vec<u8>) {}
}

impl Transport for OtherServers {
    fn send(&self, _channel: &Arc<NotificationChannel>, _document: &Bytes) {}
}

/// Delivers for a hub until the task is ended.
pub(super) async fn hub_at_work(hub: Arc<Hub>, _catalogue: Catalogue) {
    hub.run().await;
}
