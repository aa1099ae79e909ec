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
    /// The number of the hub.
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
    /// It answered with 2xx: it will verify the request at the callback, or has done so.
    Accepted,
    /// It answered with an error: the same request would be refused again.
    Refused,
    /// It could not be asked: the request is sent again later.
    Failed,
}

/// The decision about a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// It belongs to a subscription, and is taken if it is signed with this secret.
    Taken { secret: String },
    /// It belongs to a subscription that was ended: 410.
    Gone,
    /// It belongs to no subscription: 404.
    Unknown,
}
