//! Replaces `channels.rs` in a build without notification: changes are found by reading the documents.

use std::sync::Arc;

use axum::Router;
use tokio::{runtime::Handle, sync::watch};

use crate::{
    Error,
    publish::{Announce, SourceContext, Unannounced},
};

/// The channels of a Source that runs: none.
pub(super) struct OpenChannels {
    /// Announces nothing.
    pub(super) announcer: Box<dyn Announce + Send>,
    pub(super) site: ChannelRoutes,
}

/// The channels as a server answers for them: not at all.
pub(super) struct ChannelRoutes {
    /// No routes.
    pub(super) routes: Router,
}

/// The channels that are offered: none.
#[derive(Clone)]
pub(super) struct Channels;

/// The topics of a Source: none.
#[cfg(feature = "postgres")]
pub(super) struct Topics;

#[cfg(feature = "postgres")]
impl Topics {
    /// Passes nothing on: nobody listens.
    pub(super) fn pass_on(&self, _topic: &str, _body: Vec<u8>) {}
}

impl Channels {
    /// Returns an announcer that announces nothing, and no routes.
    pub(super) fn open(
        &self,
        _source: &SourceContext,
        _runtime: &Handle,
        _origin: Option<&Arc<str>>,
        _ending: &watch::Receiver<bool>,
    ) -> Result<OpenChannels, Error> {
        Ok(OpenChannels { announcer: Box::new(Unannounced), site: ChannelRoutes { routes: Router::new() } })
    }

    /// Returns no topics and no routes.
    #[cfg(feature = "postgres")]
    pub(super) fn open_beside(
        &self,
        _source: &SourceContext,
        _origin: Option<&Arc<str>>,
        _ending: &watch::Receiver<bool>,
    ) -> Result<(Topics, ChannelRoutes), Error> {
        Ok((Topics, ChannelRoutes { routes: Router::new() }))
    }
}
