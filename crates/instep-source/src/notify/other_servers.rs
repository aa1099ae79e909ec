//! The other servers of the Source: each of them passes notifications on to its own listeners.

use std::sync::Arc;

use bytes::Bytes;

use super::{channel::NotificationChannel, hub::Hub, transport::Transport};
use crate::catalogue::{Catalogue, SharedRows};

/// Messages as rows of a catalogue that several servers use.
#[derive(Clone, Debug)]
pub(super) struct OtherServers(Catalogue);

impl OtherServers {
    /// Returns `None` if this server is the only one.
    pub(super) fn of(catalogue: &Catalogue) -> Option<Self> {
        catalogue.is_shared().then(|| Self(catalogue.clone()))
    }

    /// Sends a message to all of them. If that fails, their listeners see the gap in the next one and read the Change List.
    pub(super) fn share_message(&self, topic: &str, body: Vec<u8>) {
        let topic = topic.to_owned();
        if let Err(error) = self.0.share(SharedRows::Message { topic, body }) {
            tracing::warn!(%error, "a message does not reach the other servers");
        } else if let Some(shared) = self.0.shared() {
            shared.wake();
        }
    }
}

impl Transport for OtherServers {
    fn send(&self, channel: &Arc<NotificationChannel>, document: &Bytes) {
        self.share_message(channel.topic().as_str(), document.to_vec());
    }
}

/// Delivers for a hub, and carries out the requests that subscribers sent to other servers, until the task is ended.
pub(super) async fn hub_at_work(hub: Arc<Hub>, catalogue: Catalogue) {
    if catalogue.is_shared() {
        tokio::join!(Arc::clone(&hub).run(), hub.take_requests(catalogue));
    } else {
        hub.run().await;
    }
}
