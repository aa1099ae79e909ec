//! Listens to the channels of one Source that is followed.

use std::path::PathBuf;

use instep_destination::{ChannelWatch, SyncOptions};

/// Calls `news` whenever a Source may have something new, for as long as it offers a channel.
pub(super) async fn watch(options: SyncOptions, folder: PathBuf, news: impl Fn() + Send) {
    match ChannelWatch::open(&options, &folder).await {
        Ok(channels) if channels.is_empty() => {
            tracing::debug!(url = %options.url, "no channel is offered: it is looked at by time only");
        }
        Ok(channels) => loop {
            channels.news().await;
            news();
        },
        Err(error) => tracing::debug!(url = %options.url, %error, "its channels cannot be found"),
    }
}
