//! A subscription to a topic, shared by the callback server and the subscriber.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use rand::Rng as _;
use resourcesync::Uri;
use tokio::{sync::Notify, time::Instant};

use super::{
    ChannelMessage, ChannelState, Inbox, Name,
    hub_request::{Ask, Delivery, Identity, Mode},
    lease::Lease,
};

/// The number of characters of a key.
const KEY_LENGTH: usize = 32;

/// A subscription and the inbox of its deliveries.
#[derive(Debug)]
pub(super) struct Subscription {
    /// The beginning of all its tokens, by which it is found.
    key: String,
    pub(super) topic: Uri,
    name: Name,
    inbox: Arc<Inbox>,
    state: Arc<ChannelState>,
    lease: Mutex<Lease>,
    began: Instant,
    /// Wakes the subscriber when the lease has changed.
    pub(super) changed: Notify,
}

impl Subscription {
    /// Returns a subscription that is not requested yet.
    pub(super) fn new(
        topic: Uri,
        lease: Lease,
        name: Name,
        inbox: Arc<Inbox>,
        state: Arc<ChannelState>,
    ) -> Self {
        let lease = Mutex::new(lease);
        let key = random();
        Self { key, topic, name, inbox, state, lease, began: Instant::now(), changed: Notify::new() }
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Returns the key within a token; `None` if the token is too short.
    pub(super) fn key_of(token: &str) -> Option<&str> {
        token.get(..KEY_LENGTH)
    }

    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn lease(&self) -> MutexGuard<'_, Lease> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the request to send now. If the lease has ended, this is reported here.
    pub(super) fn ask(&self) -> Option<Ask> {
        let now = self.now();
        let ask = self.lease().ask(now, || identity(&self.key));
        if self.lease().expires(now).is_none() && self.state.end_lease() {
            self.lost("its lease ran out");
        }
        ask
    }

    pub(super) fn knows(&self, token: &str) -> bool {
        self.lease().knows(token)
    }

    /// Returns `true` if a verification of intent should be confirmed (CN-13).
    pub(super) fn verify(&self, token: &str, mode: Mode, topic: &str, granted: Option<Duration>) -> bool {
        if topic != self.topic.as_str() {
            return false;
        }
        let now = self.now();
        // The lock is released at once: the subscriber that is woken below takes it.
        let (confirmed, expires) = {
            let mut lease = self.lease();
            (lease.verify(token, mode, granted, now), lease.expires(now))
        };
        let until =
            expires.filter(|_| confirmed && mode == Mode::Subscribe).map(|expires| self.began + expires);
        if until.is_some_and(|until| !self.state.set_leased(&self.topic, until)) {
            let lasting = granted.map_or(String::new(), |lease| format!(" for {} s", lease.as_secs()));
            self.inbox.note(format!("subscribed to {} at its hub{lasting}", self.topic));
            // The hub does not send earlier notifications, so their changes are read from the Change List.
            self.inbox.look();
        }
        self.changed.notify_one();
        confirmed
    }

    /// Records a denial (CN-15).
    pub(super) fn deny(&self, token: &str, reason: &str) {
        let now = self.now();
        if self.lease().deny(token, now) {
            self.state.end_lease();
            // The reason is optional (WebSub §5.2).
            let colon = if reason.is_empty() { "" } else { ": " };
            self.lost(&format!("denied{colon}{}", reason.escape_debug()));
            self.changed.notify_one();
        }
    }

    pub(super) fn delivered(&self, token: &str) -> Delivery {
        self.lease().delivered(token, self.now())
    }

    /// Passes on a delivery whose signature is valid.
    pub(super) fn take(&self, body: Bytes) {
        let (set, kind) = self.name.clone();
        self.inbox.put(ChannelMessage { set, kind, body });
    }

    fn lost(&self, why: &str) {
        self.inbox.note(format!("not subscribed to {} any more: {why}; polling meanwhile", self.topic));
        self.inbox.look();
    }
}

/// Returns a token and a secret that cannot be guessed (W2, W6).
fn identity(key: &str) -> Identity {
    Identity { token: format!("{key}{}", random()), secret: format!("{}{}", random(), random()) }
}

fn random() -> String {
    format!("{:032x}", rand::rng().random::<u128>())
}
