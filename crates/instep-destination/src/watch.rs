//! Hears from a Source that something is new, for who looks at it by other means.

use std::path::Path;

use resourcesync::Uri;

use crate::{Error, SyncOptions, discover::discover, documents::Documents, listen::Listener};

/// The channels of a Source, listened to over WebSockets while this value lives. A message says only that the Source is
/// to be looked at: what it announces is read from the Change List.
///
/// Thousands of Sources can be watched in one process: each has a connection and no thread.
#[derive(Debug)]
pub struct ChannelWatch(Listener);

impl ChannelWatch {
    /// Finds the channels that the Source of a run offers, and listens to them. Documents are kept in a folder while they
    /// are read.
    ///
    /// # Errors
    /// If the Source cannot be reached or is none, or an option cannot be used.
    pub async fn open(options: &SyncOptions, folder: &Path) -> Result<Self, Error> {
        let unusable = |error| Error::Usage { what: format!("{:?} is not a URL: {error}", options.url) };
        let url = Uri::parse(&options.url).map_err(unusable)?;
        let client = options.access.client(&options.url)?;
        let documents = Documents::new(client.clone(), folder);
        let source = discover(&url, &options.selection.sets, &documents).await?;
        let mut listener = Listener::open(None).await?;
        listener.listen_to(&source, &client);
        Ok(Self(listener))
    }

    /// Returns `true` if the Source offers no channel that can be listened to.
    pub fn is_empty(&self) -> bool {
        self.0.has_no_channel()
    }

    /// Waits until something may be new: a message, or a channel that was opened, came back or was lost. Several since
    /// the last call count as one.
    pub async fn news(&self) {
        self.0.news().await;
        drop(self.0.take());
    }
}
