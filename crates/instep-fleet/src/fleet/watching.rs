//! Listens to the channels of one Source that is followed.

use std::path::PathBuf;

use instep_destination::{ChannelWatch, SharedCallbacks, Shutdown, SyncOptions};
use tokio::task::JoinHandle;

use crate::definition::SourceDefinition;

/// The channels of a Source that are listened to.
pub(super) struct SourceWatch {
    /// The definition that led to them.
    pub(super) definition: SourceDefinition,
    /// Ends it.
    pub(super) ending: Shutdown,
    pub(super) task: JoinHandle<()>,
}

/// Calls `news` whenever a Source may have something new, until it should end. Then it ends the subscriptions at
/// hubs.
pub(super) async fn watch(
    (options, folder): (SyncOptions, PathBuf),
    callbacks: Option<SharedCallbacks>,
    ending: Shutdown,
    news: impl Fn() + Send,
) {
    let opened = tokio::select! {
        opened = ChannelWatch::open(&options, &folder, callbacks.as_ref()) => opened,
        () = ending.requested() => return,
    };
    let channels = match opened {
        Ok(channels) if channels.is_empty() => {
            tracing::debug!(url = %options.url, "no channel is offered: it is looked at by time only");
            return;
        }
        Ok(channels) => channels,
        Err(error) => {
            tracing::debug!(url = %options.url, %error, "its channels cannot be found");
            return;
        }
    };
    loop {
        tokio::select! {
            () = channels.news() => news(),
            () = ending.requested() => break,
        }
    }
    channels.end().await;
}
