//! The topics of a Source with their listeners on this server, whichever server publishes.

use std::sync::Arc;

#[cfg(feature = "postgres")]
use axum::routing::post;
use axum::{
    Router,
    routing::{any, get},
};
use resourcesync::Capability;
use tokio::sync::{broadcast, watch};

use super::{audience::Audience, channel::NotificationChannel, hub::Hub, options::ChannelOptions, socket};
#[cfg(feature = "postgres")]
use super::{hub, options::HUB};
#[cfg(feature = "postgres")]
use crate::serve::methods::TAKES_POSTS;
use crate::{
    Error,
    publish::SourceContext,
    render::SetPlace,
    serve::methods::{READ_ONLY, with_methods},
};

/// The kinds of notification, each with a channel per set (CN-2).
pub(super) const KINDS: [Capability; 2] = [Capability::ChangeNotification, Capability::FrameworkNotification];

/// The path of the event stream for pages, below the base URL.
pub(super) const EVENTS: &str = "resourcesync/events";

/// The topics of a Source, and the event stream of its pages.
#[derive(Debug)]
pub(crate) struct Topics {
    pub(super) sets: Vec<SetTopics>,
    pub(super) withdrawn: Vec<WithdrawnSet>,
    pub(super) recent: broadcast::Sender<Arc<str>>,
}

/// The topics of a set.
#[derive(Debug)]
pub(super) struct SetTopics {
    pub(super) place: SetPlace,
    pub(super) changes: Arc<NotificationChannel>,
    pub(super) framework: Arc<NotificationChannel>,
}

/// A set that is no longer published. Its framework channel keeps one last message for late listeners (FN-2).
#[derive(Debug)]
pub(super) struct WithdrawnSet {
    pub(super) place: SetPlace,
    pub(super) framework: Arc<NotificationChannel>,
}

impl Topics {
    /// Opens the topics of each set; none if no channels are offered.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub(crate) fn new(source: &SourceContext, options: &ChannelOptions) -> Result<Self, Error> {
        let hubs = options.hubs(source.place());
        let open = |place: &SetPlace, kind: &Capability| NotificationChannel::new(place, kind, hubs.clone());
        let sets = source.options().sets.iter().filter(|_| options.offered).map(|set| {
            let place = source.place().set(&set.name);
            let [changes, framework] = KINDS.map(|kind| open(&place, &kind));
            SetTopics { place, changes, framework }
        });
        let unwanted = source.unwanted_sets()?;
        let withdrawn = unwanted.iter().filter(|_| options.offered).map(|name| {
            let place = source.place().set(name);
            let framework = open(&place, &Capability::FrameworkNotification);
            WithdrawnSet { place, framework }
        });
        let (sets, withdrawn) = (sets.collect(), withdrawn.collect());
        Ok(Self { sets, withdrawn, recent: broadcast::channel(64).0 })
    }

    /// Returns the channels of all topics.
    pub(super) fn channels(&self) -> impl Iterator<Item = &Arc<NotificationChannel>> {
        let lasting = self.sets.iter().flat_map(|set| [&set.changes, &set.framework]);
        lasting.chain(self.withdrawn.iter().map(|set| &set.framework))
    }

    /// Returns the routes of the topics, below the base URL.
    pub(crate) fn routes(&self, origin: Option<&Arc<str>>, ending: &watch::Receiver<bool>) -> Router {
        let mut routes = Router::new();
        let lasting = self.sets.iter().flat_map(|set| [(set, &set.changes), (set, &set.framework)]);
        let lasting = lasting.map(|(set, channel)| (&set.place, channel, false));
        let ended = self.withdrawn.iter().map(|set| (&set.place, &set.framework, true));
        for (place, channel, has_ended) in lasting.chain(ended) {
            let path = channel.topic().as_str().strip_prefix(place.source().base()).unwrap_or_default();
            let topic = socket::Topic {
                channel: Arc::clone(channel),
                has_ended,
                ending: ending.clone(),
                origin: origin.cloned(),
            };
            routes = routes.route(&format!("/{path}"), any(socket::topic).with_state(topic));
        }
        let (recent, ending) = (self.recent.clone(), ending.clone());
        let events = move || async move { socket::events(recent.subscribe(), "changes", ending) };
        routes.route(&format!("/{EVENTS}"), with_methods(READ_ONLY, get(events)))
    }

    /// Returns the routes for a standby server. Its hub passes requests to the publishing server.
    #[cfg(feature = "postgres")]
    pub(crate) fn routes_beside(
        &self,
        source: &SourceContext,
        options: &ChannelOptions,
        origin: Option<&Arc<str>>,
        ending: &watch::Receiver<bool>,
    ) -> Router {
        let routes = self.routes(origin, ending);
        if !options.hub {
            return routes;
        }
        let topics = self.channels().map(|channel| channel.topic().to_string());
        let requests = hub::LeftRequests::new(source.catalogue(), topics);
        routes.route(&format!("/{HUB}"), with_methods(TAKES_POSTS, post(hub::leave)).with_state(requests))
    }

    /// Returns the listeners of the topics, and the subscribers of a hub; both change while it is kept.
    pub(crate) fn audience(&self, hub: Option<Arc<Hub>>) -> Audience {
        let channels = self.sets.iter().flat_map(|set| [&set.changes, &set.framework]).map(Arc::clone);
        Audience::new(channels.collect(), hub, self.recent.clone())
    }

    /// Passes a message that another server announced on to the listeners on this one.
    #[cfg(feature = "postgres")]
    pub(crate) fn pass_on(&self, topic: &str, body: Vec<u8>) {
        if topic == EVENTS {
            // It is not an error if no page listens.
            let _ = self.recent.send(String::from_utf8_lossy(&body).into());
        } else if let Some(channel) = self.channels().find(|channel| channel.topic().as_str() == topic) {
            channel.send(&body.into());
        }
    }
}
