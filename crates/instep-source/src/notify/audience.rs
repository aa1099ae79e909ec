//! The numbers of connected listeners and subscribers. Callbacks are secrets between the hub and a subscriber, so no
//! address is shown.

use std::sync::Arc;

use resourcesync::Uri;
use tokio::sync::broadcast;

use super::{channel::NotificationChannel, hub::Hub};

/// The listeners and subscribers of a Source.
#[derive(Clone, Debug)]
pub struct Audience {
    channels: Vec<Arc<NotificationChannel>>,
    hub: Option<Arc<Hub>>,
    pages: broadcast::Sender<Arc<str>>,
}

/// The listeners and subscribers of a channel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChannelAudience {
    /// Its topic.
    pub topic: Uri,
    /// The number of clients connected to it, over WebSocket or server-sent events.
    pub listeners: usize,
    /// The number of subscribers that the hub delivers to.
    pub subscribers: usize,
    /// The number of those whose last delivery failed.
    pub failing: usize,
}

impl Audience {
    pub(super) fn new(
        channels: Vec<Arc<NotificationChannel>>,
        hub: Option<Arc<Hub>>,
        pages: broadcast::Sender<Arc<str>>,
    ) -> Self {
        Self { channels, hub, pages }
    }

    /// Returns the channels, each with its audience at this moment.
    pub fn channels(&self) -> Vec<ChannelAudience> {
        let audience = |channel: &Arc<NotificationChannel>| {
            let hub = self.hub.as_ref();
            let counts = hub.map(|hub| hub.subscribers(channel.topic().as_str())).unwrap_or_default();
            let (topic, listeners) = (channel.topic().clone(), channel.listeners());
            ChannelAudience { topic, listeners, subscribers: counts.all, failing: counts.failing }
        };
        self.channels.iter().map(audience).collect()
    }

    /// Returns the number of pages that show changes while they happen.
    pub fn open_pages(&self) -> usize {
        self.pages.receiver_count()
    }
}
