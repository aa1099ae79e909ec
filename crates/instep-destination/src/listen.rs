//! Channels of notifications: only ever a hint to look now (W5).

mod socket;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use resourcesync::{Capability, Relation, Uri};
use tokio::{sync::Notify, task::JoinHandle};

use crate::{
    discover::{Discovered, Offer},
    http::{Client, Origin},
};

/// Listens to the channels of a Source while it lives.
///
/// # Contract
/// Nothing that a channel says is applied: it leads to a look at the Change List. A channel that comes back leads to one
/// too, so nothing is missed while it was away.
#[derive(Debug, Default)]
pub struct Listener {
    hint: Arc<Notify>,
    channels: BTreeMap<String, Channel>,
}

#[derive(Debug)]
struct Channel {
    listening: JoinHandle<()>,
    connected: Arc<AtomicBool>,
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Listener {
    /// Listens to nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens to the channels that a Source offers now, and to no other.
    pub fn listen_to(&mut self, source: &Discovered, client: &Client) {
        let offered: BTreeMap<String, Origin> = source
            .sets
            .iter()
            .flat_map(|set| {
                let speaker = set.capability_list.as_ref().and_then(|list| Origin::parse(list.as_str()).ok());
                let kinds = [Capability::ChangeNotification, Capability::FrameworkNotification];
                kinds
                    .into_iter()
                    .filter_map(move |kind| Some((channel_uri(set.get(&kind)?)?, speaker.clone()?)))
            })
            .collect();
        self.channels.retain(|uri, _| offered.contains_key(uri));
        for (uri, speaker) in offered {
            let (client, hint) = (client.clone(), Arc::clone(&self.hint));
            self.channels.entry(uri.clone()).or_insert_with(|| {
                let connected = Arc::new(AtomicBool::new(false));
                let state = Arc::clone(&connected);
                let listening =
                    tokio::spawn(async move { socket::listen(&client, &uri, &speaker, &hint, &state).await });
                Channel { listening, connected }
            });
        }
    }

    /// Whether a channel is open, so that looking without a hint is only a safety net.
    pub fn is_connected(&self) -> bool {
        self.channels.values().any(|channel| channel.connected.load(Relaxed))
    }

    /// Waits for the next hint; those that came since the last one are one.
    pub async fn hint(&self) {
        self.hint.notified().await;
    }
}

/// The WebSocket URI of a channel: its own, as the draft of 0.8 has it, or that of an `alternate`.
fn channel_uri(offer: &Offer) -> Option<String> {
    let is_socket = |uri: &Uri| uri.as_str().starts_with("ws:") || uri.as_str().starts_with("wss:");
    let alternates = offer.links.iter().filter(|link| link.rel == Relation::Alternate).map(|link| &link.href);
    std::iter::once(&offer.uri)
        .chain(alternates)
        .find(|uri| is_socket(uri))
        .map(|uri| uri.as_str().to_owned())
}
