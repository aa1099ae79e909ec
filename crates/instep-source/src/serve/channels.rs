//! The channels of a Source, beside its documents.

use std::sync::Arc;

use axum::Router;
use tokio::{runtime::Handle, sync::watch};

#[cfg(feature = "postgres")]
pub(super) use crate::notify::Topics;
use crate::{
    Error, PublishOptions,
    notify::{self, Announcer, Audience, ChannelOptions},
    publish::{Announce, SourceContext},
};

/// The channels of a Source that runs.
pub(super) struct OpenChannels {
    /// Announces publications.
    pub(super) announcer: Box<dyn Announce + Send>,
    pub(super) site: ChannelRoutes,
}

/// The channels as a server answers for them.
pub(super) struct ChannelRoutes {
    /// Below the base URL.
    pub(super) routes: Router,
    pub(super) audience: Audience,
}

/// The channels that are offered.
#[derive(Clone)]
pub(super) struct Channels(ChannelOptions);

impl Channels {
    /// Puts the channels into the Capability Lists.
    pub(super) fn advertise(channels: &ChannelOptions, publish: &mut PublishOptions) -> Result<Self, Error> {
        notify::advertise(publish, channels)?;
        Ok(Self(channels.clone()))
    }

    /// Opens the channels.
    pub(super) fn open(
        &self,
        source: &SourceContext,
        runtime: &Handle,
        origin: Option<&Arc<str>>,
        ending: &watch::Receiver<bool>,
    ) -> Result<OpenChannels, Error> {
        let announcer = Announcer::new(source, &self.0, runtime)?;
        let site = ChannelRoutes { routes: announcer.routes(origin, ending), audience: announcer.audience() };
        Ok(OpenChannels { announcer: Box::new(announcer), site })
    }

    /// Opens the channels of a Source that another server publishes.
    #[cfg(feature = "postgres")]
    pub(super) fn open_beside(
        &self,
        source: &SourceContext,
        origin: Option<&Arc<str>>,
        ending: &watch::Receiver<bool>,
    ) -> Result<(Topics, ChannelRoutes), Error> {
        let topics = Topics::new(source, &self.0)?;
        let routes = topics.routes_beside(source, &self.0, origin, ending);
        let site = ChannelRoutes { routes, audience: topics.audience(None) };
        Ok((topics, site))
    }
}
