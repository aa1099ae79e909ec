//! Replaces `channels.rs` in a build without notification: changes are found by reading the documents.

use std::sync::Arc;

use axum::Router;
use tokio::{runtime::Handle, sync::watch};

use crate::{
    Error, Publisher,
    publish::{Announce, Unannounced},
};

/// The channels of a Source that runs: none.
pub(super) struct OpenChannels {
    /// Announces nothing.
    pub(super) announcer: Box<dyn Announce + Send>,
    /// No routes.
    pub(super) routes: Router,
}

/// The channels that are offered: none.
pub(super) struct Channels;

impl Channels {
    /// Returns an announcer that announces nothing, and no routes.
    pub(super) fn open(
        &self,
        _publisher: &Publisher,
        _runtime: &Handle,
        _origin: Option<&Arc<str>>,
        _ending: &watch::Receiver<bool>,
    ) -> Result<OpenChannels, Error> {
        Ok(OpenChannels { announcer: Box::new(Unannounced), routes: Router::new() })
    }
}
