//! The channels of a Source, beside its documents.

use std::sync::Arc;

use axum::Router;
use tokio::{runtime::Handle, sync::watch};

use crate::{
    Error, PublishOptions, Publisher,
    notify::{self, Announcer, Audience, ChannelOptions},
    publish::Announce,
};

/// The channels of a Source that runs.
pub(super) struct OpenChannels {
    /// Announces publications.
    pub(super) announcer: Box<dyn Announce + Send>,
    /// Below the base URL.
    pub(super) routes: Router,
    pub(super) audience: Audience,
}

/// The channels that are offered.
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
        publisher: &Publisher,
        runtime: &Handle,
        origin: Option<&Arc<str>>,
        ending: &watch::Receiver<bool>,
    ) -> Result<OpenChannels, Error> {
        let announcer = Announcer::new(publisher, &self.0, runtime)?;
        let (routes, audience) = (announcer.routes(origin, ending), announcer.audience());
        Ok(OpenChannels { announcer: Box::new(announcer), routes, audience })
    }
}
