//! The options of notification.

use instep_net::Cidr;
use resourcesync::Uri;

use super::hub::Signature;
use crate::render::SourcePlace;

/// The path of the hub below the base URL, to which subscribers send their requests.
pub(super) const HUB: &str = "resourcesync/hub";

/// The form of notifications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ChannelDialect {
    /// 1.0: the topic's URI, which answers a WebSocket upgrade too (CN-3).
    #[default]
    V1_0,
    /// 0.8: the WebSocket's URI alone (N8-2).
    V0_8,
}

/// The options of notification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChannelOptions {
    /// `true` if there are channels.
    pub offered: bool,
    /// The form in which they are advertised.
    pub dialect: ChannelDialect,
    /// `true` if there is a hub, which delivers to subscribers by POST (WebSub).
    pub hub: bool,
    /// Non-public addresses that the hub may call. Public ones are always allowed.
    pub callbacks: Vec<Cidr>,
    /// Hubs elsewhere that are notified of each change.
    pub external_hubs: Vec<Uri>,
    /// The signature of deliveries to subscribers that gave a secret.
    pub signature: Signature,
}

impl Default for ChannelOptions {
    fn default() -> Self {
        Self {
            offered: true,
            dialect: ChannelDialect::default(),
            hub: true,
            callbacks: Vec::new(),
            external_hubs: Vec::new(),
            signature: Signature::default(),
        }
    }
}

impl ChannelOptions {
    /// Returns the hubs of a topic.
    pub(super) fn hubs(&self, place: &SourcePlace) -> Vec<Uri> {
        let own = self.hub.then(|| place.uri(HUB));
        own.into_iter().chain(self.external_hubs.iter().cloned()).collect()
    }
}
