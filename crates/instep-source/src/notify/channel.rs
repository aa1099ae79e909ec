//! One topic: its last message and its listeners.

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use http::HeaderValue;
use resourcesync::{Capability, Entry, Link, Metadata, Relation, Uri};
use tokio::sync::broadcast;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::options::{ChannelDialect, ChannelOptions};
use crate::render::SetPlace;

/// The number of messages that a listener may be behind. After that it is dropped, and reads the Change List (W9).
const BACKLOG: usize = 64;

/// The channel of one kind of notification about one set (CN-2).
#[derive(Debug)]
pub(crate) struct NotificationChannel {
    topic: Uri,
    hubs: Vec<Uri>,
    capability_list: Uri,
    messages: broadcast::Sender<Utf8Bytes>,
    last: RwLock<Option<Utf8Bytes>>,
}

impl NotificationChannel {
    pub(super) fn new(place: &SetPlace, kind: &Capability, hubs: Vec<Uri>) -> Arc<Self> {
        let (messages, _) = broadcast::channel(BACKLOG);
        Arc::new(Self {
            topic: topic(place, kind),
            hubs,
            capability_list: place.capability_list(),
            messages,
            last: RwLock::default(),
        })
    }

    /// Returns the topic's URI.
    pub(crate) fn topic(&self) -> &Uri {
        &self.topic
    }

    /// Sends a document to every listener. It is held once for all of them.
    pub(super) fn send(&self, document: &Bytes) {
        let Ok(text) = Utf8Bytes::try_from(document.clone()) else { return };
        *self.last.write().unwrap_or_else(PoisonError::into_inner) = Some(text.clone());
        // A channel without listeners is not a failure.
        let _ = self.messages.send(text);
    }

    pub(super) fn listen(&self) -> broadcast::Receiver<Utf8Bytes> {
        self.messages.subscribe()
    }

    /// Returns the number of listeners.
    pub(super) fn listeners(&self) -> usize {
        self.messages.receiver_count()
    }

    pub(super) fn last(&self) -> Option<Utf8Bytes> {
        self.last.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the links of a topic: its own URI and its hubs (CN-4).
    pub(crate) fn links(&self) -> HeaderValue {
        let mut links = format!("<{}>; rel=\"self\"", self.topic);
        for hub in &self.hubs {
            links.push_str(&format!(", <{hub}>; rel=\"hub\""));
        }
        links.push_str(&format!(", <{}>; rel=\"resourcesync\"", self.capability_list));
        HeaderValue::from_str(&links).unwrap_or(HeaderValue::from_static(""))
    }
}

/// Returns the URI of a topic: the capability's name beside the set's documents.
fn topic(place: &SetPlace, kind: &Capability) -> Uri {
    place.uri(kind.as_str())
}

/// Returns the entry of the Capability List that advertises a channel (CN-3). There is one per capability. Without a
/// hub there is only the WebSocket: 1.0 requires a hub (CN-4), 0.8 does not (R5).
pub(super) fn entry(place: &SetPlace, kind: &Capability, options: &ChannelOptions) -> Entry {
    let topic = topic(place, kind);
    let socket = Uri::parse(&topic.as_str().replacen("http", "ws", 1)).unwrap_or_default();
    let hubs = options.hubs(place.source());
    let (loc, links) = match options.dialect {
        ChannelDialect::V1_0 if !hubs.is_empty() => {
            let hubs = hubs.into_iter().map(|hub| Link::new(Relation::Hub, hub));
            (topic, hubs.chain([Link::new(Relation::Alternate, socket)]).collect())
        }
        _ => (socket, Vec::new()),
    };
    let mut entry = Entry::new(loc);
    entry.metadata = Metadata::with_capability(kind.clone());
    entry.links = links;
    entry
}
