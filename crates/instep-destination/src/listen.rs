//! Channels of notifications, from which a following Destination receives changes. A message causes a run over the
//! Source, or is applied if it provably continues the state held (W5). `follow.rs` decides which.

mod backoff;
mod callbacks;
mod connections;
mod framework;
mod hub_request;
mod inbox;
mod lease;
mod offered;
mod signature;
mod socket;
mod state;
mod subscriber;
mod subscription;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use instep_net::Client;
use resourcesync::Uri;
use tokio::{sync::watch, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::discover::Discovered;
pub(crate) use callbacks::Callbacks;
pub(crate) use framework::{Consequence, leads};
use inbox::Inbox;
pub(crate) use inbox::{ChannelMessage, Received};
pub(crate) use offered::Kind;
use offered::{ChannelTransports, Name, channels};
use state::ChannelState;

/// The time that all hubs together may take to end subscriptions when listening ends.
const PARTING: Duration = Duration::from_secs(3);

/// Listens to the channels of a Source during its lifetime: over a WebSocket, or by a subscription at a hub if no
/// WebSocket can be opened and the hub can reach this Destination (CN-11).
///
/// # Contract
/// Each time a channel is opened, reopened or lost, the Source is read, so that nothing is missed meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Listener {
    inbox: Arc<Inbox>,
    channels: BTreeMap<Name, Channel>,
    callbacks: Option<Arc<Callbacks>>,
    source: Option<Discovered>,
}

#[derive(Debug)]
struct Channel {
    transports: ChannelTransports,
    state: Arc<ChannelState>,
    ending: CancellationToken,
    socket: Option<JoinHandle<()>>,
    subscriber: Option<JoinHandle<()>>,
}

impl Drop for Channel {
    fn drop(&mut self) {
        // Only the WebSocket is aborted: a subscriber still has to end its subscription.
        self.ending.cancel();
        if let Some(socket) = &self.socket {
            socket.abort();
        }
    }
}

impl Listener {
    /// Returns a listener without channels. Hubs are used only if there are callbacks.
    pub(crate) fn new(callbacks: Option<Arc<Callbacks>>) -> Self {
        Self { callbacks, ..Self::default() }
    }

    /// Listens to the channels that a Source offers now, and to no other (FN-6).
    pub(crate) fn listen_to(&mut self, source: &Discovered, client: &Client) {
        self.listen(source, client, |_| false);
        self.source = Some(source.clone());
    }

    /// Listens to the channels that a part of a Source offers now. Channels of sets that are not in it stay (O865).
    pub(crate) fn listen_to_part(&mut self, part: &Discovered, client: &Client) {
        let read = part.sets.iter().filter(|set| set.lost_above.is_none());
        let read: Vec<&Uri> = read.filter_map(|set| set.capability_list.as_ref()).collect();
        self.listen(part, client, |set| !read.contains(&set));
    }

    fn listen(&mut self, source: &Discovered, client: &Client, stays: impl Fn(&Uri) -> bool) {
        let offered = channels(source);
        // Closed before new ones are opened: a channel that has moved must not deliver a message twice.
        self.channels.retain(|name, channel| {
            let is_offered = offered.get(name) == Some(&channel.transports);
            is_offered || !offered.contains_key(name) && stays(&name.0)
        });
        for (name, transports) in offered {
            if !self.channels.contains_key(&name) {
                let channel = self.open_channel(&name, transports, client);
                self.channels.insert(name, channel);
            }
        }
    }

    /// Returns the Source as it was when it was last read; `None` if it was not read yet.
    pub(crate) fn source(&self) -> Option<&Discovered> {
        self.source.as_ref()
    }

    /// Closes the channels that a withdrawn document led to. Returns `true` if no set is left.
    pub(crate) fn forget(&mut self, document: &Uri) -> bool {
        let Some(source) = &mut self.source else { return false };
        let all = source.source_description.as_ref() == Some(document);
        source.sets.retain(|set| !all && set.capability_list.as_ref() != Some(document));
        self.channels.retain(|(set, _), _| !all && set != document);
        source.sets.is_empty()
    }

    /// Returns `true` if every set has an open channel, so that polling is only a safety net.
    pub(crate) fn is_connected(&self) -> bool {
        let mut sets = BTreeMap::new();
        for ((set, _), channel) in &self.channels {
            *sets.entry(set).or_insert(false) |= channel.state.is_open();
        }
        let all = self.source.as_ref().map_or(0, |source| source.sets.len());
        !sets.is_empty() && sets.len() == all && sets.values().all(|is_open| *is_open)
    }

    /// Returns `true` if the changes of a set arrive over a connection, on which nothing is lost or reordered.
    pub(crate) fn receives_all_changes_of(&self, set: &Uri) -> bool {
        let channel = self.channels.get(&(set.clone(), Kind::Changes));
        channel.is_some_and(|channel| channel.state.is_connected())
    }

    /// Returns `true` if a channel was open, and is not any more.
    pub(crate) fn has_lost_one(&self) -> bool {
        self.channels.values().any(|channel| channel.state.is_lost())
    }

    /// Returns `true` if no channel is listened to.
    pub(crate) fn has_no_channel(&self) -> bool {
        self.channels.is_empty()
    }

    /// Returns the topics that are subscribed to, each with the rest of its lease.
    pub(crate) fn leases(&self) -> Vec<(Uri, Duration)> {
        self.channels.values().filter_map(|channel| channel.state.lease()).collect()
    }

    /// Waits for the next message. Several messages since the last call count as one.
    pub(crate) async fn news(&self) {
        self.inbox.news().await;
    }

    /// Returns the messages since the last call.
    pub(crate) fn take(&self) -> Received {
        self.inbox.take()
    }

    /// Ends all subscriptions whose hubs answer soon.
    pub(crate) async fn end(mut self) {
        let channels: Vec<_> = std::mem::take(&mut self.channels).into_values().collect();
        // All are cancelled before any is waited for, so that all hubs share the same three seconds.
        channels.iter().for_each(|channel| channel.ending.cancel());
        let ended = async {
            for mut channel in channels {
                if let Some(subscriber) = channel.subscriber.take() {
                    let _ = subscriber.await;
                }
            }
        };
        if timeout(PARTING, ended).await.is_err() {
            tracing::info!("a hub did not end its subscription in time: it ends with its lease");
        }
    }

    fn open_channel(&self, name: &Name, transports: ChannelTransports, client: &Client) -> Channel {
        let (state, ending) = (Arc::new(ChannelState::default()), CancellationToken::new());
        // Without a WebSocket to wait for, the subscription begins at once.
        let (failed, has_failed) = watch::channel(transports.sockets.is_empty());
        let socket = (!transports.sockets.is_empty()).then(|| {
            let socket = socket::Socket {
                client: client.clone(),
                uris: transports.sockets.clone(),
                speaker: transports.speaker.clone(),
                name: name.clone(),
                inbox: Arc::clone(&self.inbox),
                state: Arc::clone(&state),
            };
            tokio::spawn(async move { socket.listen(failed).await })
        });
        let callbacks = self.callbacks.as_ref().filter(|_| !transports.topics.is_empty());
        let subscriber = callbacks.map(|callbacks| {
            let subscriber = subscriber::Subscriber {
                client: client.clone(),
                transports: transports.clone(),
                name: name.clone(),
                callbacks: Arc::clone(callbacks),
                inbox: Arc::clone(&self.inbox),
                state: Arc::clone(&state),
                ending: ending.clone(),
            };
            tokio::spawn(subscriber.run(has_failed))
        });
        Channel { transports, state, ending, socket, subscriber }
    }
}
