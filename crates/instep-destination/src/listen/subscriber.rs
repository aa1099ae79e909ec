//! The task that keeps a subscription at a hub: it finds the hub, subscribes, renews and unsubscribes (CN-5, CN-11,
//! CN-14, CN-19). The rules are in `lease.rs`.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use instep_net::{Client, Request};
use resourcesync::{Relation, Uri, discovery};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    ChannelState, ChannelTransports, Inbox, Name,
    callbacks::Callbacks,
    hub_request::{Ask, HubAnswer, Mode},
    lease::Lease,
    subscription::Subscription,
};

/// The pause between searches for a topic that has a hub.
const LOOK_AGAIN: Duration = Duration::from_secs(600);
/// The most hubs of one topic that are tried.
const MOST_HUBS: usize = 8;

/// The means of a subscription to a channel.
pub(super) struct Subscriber {
    pub(super) client: Client,
    pub(super) transports: ChannelTransports,
    pub(super) name: Name,
    pub(super) callbacks: Arc<Callbacks>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) state: Arc<ChannelState>,
    pub(super) ending: CancellationToken,
}

impl Subscriber {
    /// Subscribes once the WebSocket has failed, and unsubscribes at the end.
    pub(super) async fn run(self, mut has_failed: watch::Receiver<bool>) {
        let is_called_for = has_failed.wait_for(|failed| *failed);
        if self.ending.run_until_cancelled(is_called_for).await.is_none() {
            return;
        }
        while !self.ending.is_cancelled() {
            match self.ending.run_until_cancelled(self.find()).await.flatten() {
                Some((topic, hubs)) => self.hold(topic, &hubs).await,
                None => {
                    let pause = tokio::time::sleep(LOOK_AGAIN);
                    let _ = self.ending.run_until_cancelled(pause).await;
                }
            }
        }
    }

    /// Returns the first topic that has a hub, by its `Link` headers (CN-5) or by its entry (CN-4).
    async fn find(&self) -> Option<(Uri, Vec<Uri>)> {
        for (uri, entry_hubs) in &self.transports.topics {
            let (topic, mut hubs) = self.links(uri).await;
            hubs.extend(entry_hubs.iter().filter(|hub| !hubs.contains(hub)).cloned().collect::<Vec<_>>());
            hubs.truncate(MOST_HUBS);
            if hubs.is_empty() {
                self.inbox.note(format!("{uri} has no hub: it is not subscribed to"));
                continue;
            }
            return Some((topic.unwrap_or_else(|| uri.clone()), hubs));
        }
        None
    }

    /// Requests a topic, and returns the targets of its `self` and `hub` links.
    async fn links(&self, topic: &Uri) -> (Option<Uri>, Vec<Uri>) {
        let request = Request::get(topic.clone()).on_behalf_of(self.transports.speaker.clone());
        let response = match self.client.send_once(&request).await {
            Ok(response) => response,
            Err(error) => {
                tracing::debug!(%topic, %error, "the topic does not answer");
                return (None, Vec::new());
            }
        };
        let fields = response.headers.get_all("link").into_iter().filter_map(|field| field.to_str().ok());
        let links: Vec<_> =
            fields.flat_map(|field| discovery::parse_link_header(field, &response.uri)).collect();
        let of = |rel: &str| {
            let rel = Relation::parse(rel);
            let of_rel = links.iter().filter(|link| link.is(&rel, &response.uri));
            of_rel.map(|link| link.target.clone()).collect::<Vec<_>>()
        };
        (of("self").into_iter().next(), of("hub"))
    }

    /// Keeps the subscription until its end is requested, or until every hub has failed too often.
    async fn hold(&self, topic: Uri, hubs: &[Uri]) {
        let (inbox, state) = (Arc::clone(&self.inbox), Arc::clone(&self.state));
        let lease = Lease::new(hubs.len(), self.callbacks.lease);
        let subscription = Subscription::new(topic, lease, self.name.clone(), inbox, state);
        let subscription = Arc::new(subscription);
        // Registered before the first request, because a hub may verify before it answers (WebSub §5.3).
        self.callbacks.serve(&subscription);
        for hub in hubs.iter().filter(|hub| hub.as_str().starts_with("http:")) {
            self.inbox
                .note(format!("{hub} is asked over http: others can read the secret that signs deliveries"));
        }
        loop {
            if self.ending.is_cancelled() {
                subscription.lease().end(subscription.now());
            }
            while let Some(ask) = subscription.ask() {
                // The lease is not locked meanwhile, because the verification may arrive before the answer.
                let answer = self.send(&subscription.topic, hubs, &ask).await;
                subscription.lease().answered(&ask, answer, subscription.now());
            }
            let (is_over, next) = {
                let lease = subscription.lease();
                (lease.has_ended() || lease.is_in_vain(), lease.next())
            };
            if is_over {
                break;
            }
            let wait = next.map_or(LOOK_AGAIN, |next| next.saturating_sub(subscription.now()));
            tokio::select! {
                _ = timeout(wait, subscription.changed.notified()) => {}
                () = self.ending.cancelled(), if !subscription.lease().is_ending() => {}
            }
        }
        self.state.end_lease();
    }

    /// Sends a request to a hub.
    async fn send(&self, topic: &Uri, hubs: &[Uri], ask: &Ask) -> HubAnswer {
        let Some(hub) = hubs.get(ask.hub) else { return HubAnswer::Failed };
        let content = form(topic, &self.callbacks.uri(&ask.identity.token), ask);
        let mut request = Request::get(hub.clone()).on_behalf_of(self.transports.speaker.clone());
        request.content = Some((content, "application/x-www-form-urlencoded"));
        match self.client.send_once(&request).await {
            Ok(response) if response.status.is_success() => HubAnswer::Accepted,
            Ok(response) => {
                let (mode, status) = (ask.mode.as_str(), response.status);
                self.inbox.note(format!("{hub} refuses to {mode} {topic}: {status}"));
                HubAnswer::Refused
            }
            Err(error) => {
                self.inbox.note(format!("{hub} could not be asked: {}", crate::error::error_chain(&error)));
                HubAnswer::Failed
            }
        }
    }
}

/// Returns the form of a request (CN-11). `hub.verify` is for hubs from before WebSub, which require it.
fn form(topic: &Uri, callback: &str, ask: &Ask) -> Bytes {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("hub.mode", ask.mode.as_str())
        .append_pair("hub.topic", topic.as_str())
        .append_pair("hub.callback", callback)
        .append_pair("hub.verify", "sync");
    if ask.mode == Mode::Subscribe {
        form.append_pair("hub.secret", &ask.identity.secret);
    }
    if let Some(lease) = ask.lease {
        form.append_pair("hub.lease_seconds", &lease.as_secs().to_string());
    }
    form.finish().into()
}
