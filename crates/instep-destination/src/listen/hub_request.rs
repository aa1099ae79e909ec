//! The requests to a hub about a subscription, its answers, and the results of its deliveries.

use std::time::Duration;

/// The secrets of one callback (W2, W6). Each request for a subscription has its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// The last segment of the callback's path.
    pub(super) token: String,
    /// The key of signatures.
    pub(super) secret: String,
}

/// A request to the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) mode: Mode,
    pub(super) identity: Identity,
    /// The lease to request; `None` for hubs that choose it themselves.
    pub(super) lease: Option<Duration>,
    /// The position of the hub among those of the topic.
    pub(super) hub: usize,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    Subscribe,
    Unsubscribe,
}

impl Mode {
    /// Returns its name in requests.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Subscribe => "subscribe",
            Self::Unsubscribe => "unsubscribe",
        }
    }
}

/// The hub's answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HubAnswer {
    /// It accepts the request: it will verify it, or has done so.
    Accepted,
    /// It answered with an error: the same request would be refused again.
    Refused,
    /// It did not answer, or is overloaded. The request is repeated later, at another hub if there is one.
    Failed,
}

/// The decision about a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// It is accepted if it is signed with this secret.
    Taken { secret: String },
    /// It belongs to a subscription that has ended, and is answered with 410.
    Gone,
    /// It belongs to no subscription, and is answered with 404.
    Unknown,
}
