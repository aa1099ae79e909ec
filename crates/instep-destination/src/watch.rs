//! Watches the channels of a Source, for callers that read it by other means.

use std::{path::Path, sync::Arc};

use instep_net::Client;
use resourcesync::Uri;

use crate::{
    CallbackOptions, Error, SyncOptions,
    discover::{Discovered, discover},
    documents::Documents,
    listen::{Callbacks, Listener},
};

/// One server at which hubs deliver for any number of [`ChannelWatch`]es. It ends when the last of them and this value are
/// dropped.
#[derive(Clone, Debug)]
pub struct SharedCallbacks(Arc<Callbacks>);

impl SharedCallbacks {
    /// Listens for hubs.
    ///
    /// # Errors
    /// If hubs cannot call the URL, or its address cannot be listened on.
    pub async fn open(options: &CallbackOptions) -> Result<Self, Error> {
        Ok(Self(Arc::new(Callbacks::open(options).await?)))
    }
}

/// The channels of a Source, watched while this value lives: over WebSockets, or by subscriptions at hubs if there
/// are callbacks and no WebSocket can be opened. A message means only that the Source should be read: its content is
/// read from the Change List.
///
/// Thousands of Sources can be watched in one process: each has a connection or a subscription, and no thread.
#[derive(Debug)]
pub struct ChannelWatch {
    listener: Listener,
    /// `true` if documents that lead to channels did not arrive.
    is_partial: bool,
}

impl ChannelWatch {
    /// Finds the channels that the Source of a run offers, and listens to them. Documents are stored in a folder
    /// while they are read.
    ///
    /// # Errors
    /// If the Source cannot be reached or is not a Source, or an option is invalid.
    pub async fn open(
        options: &SyncOptions,
        folder: &Path,
        callbacks: Option<&SharedCallbacks>,
    ) -> Result<Self, Error> {
        let (source, client) = found(options, folder).await?;
        let mut listener = Listener::new(callbacks.map(|callbacks| Arc::clone(&callbacks.0)));
        listener.listen_to(&source, &client);
        Ok(Self { listener, is_partial: lacks_sets(&source) })
    }

    /// Finds the channels that the Source of the run offers now, listens to these, and closes all others. If documents that lead
    /// to channels do not arrive, those of their sets stay as they are.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub async fn renew(&mut self, options: &SyncOptions, folder: &Path) -> Result<(), Error> {
        let (source, client) = found(options, folder).await?;
        self.is_partial = lacks_sets(&source);
        if self.is_partial {
            self.listener.listen_to_part(&source, &client);
        } else {
            self.listener.listen_to(&source, &client);
        }
        Ok(())
    }

    /// Returns `true` if the Source may offer other channels: one was open, and is not any more, or documents that lead to channels
    /// did not arrive.
    pub fn is_to_renew(&self) -> bool {
        self.is_partial || self.listener.has_lost_one()
    }

    /// Returns `true` if the Source offers no channel that can be listened to.
    pub fn is_empty(&self) -> bool {
        self.listener.has_no_channel()
    }

    /// Waits until something may be new: a message, or a channel that was opened, reopened or lost. Several since the
    /// last call count as one.
    pub async fn news(&self) {
        self.listener.news().await;
        drop(self.listener.take());
    }

    /// Ends the subscriptions at the hubs that answer within a few seconds. Other subscriptions end with their leases.
    pub async fn end(self) {
        self.listener.end().await;
    }
}

/// Finds the documents of the Source of a run, with the client of its requests.
async fn found(options: &SyncOptions, folder: &Path) -> Result<(Discovered, Client), Error> {
    let unusable = |error| Error::Usage { what: format!("{:?} is not a URL: {error}", options.url) };
    let url = Uri::parse(&options.url).map_err(unusable)?;
    let client = options.access.client(&options.url)?;
    let documents = Documents::new(client.clone(), folder);
    let source = discover(&url, &options.selection.sets, &documents).await?;
    Ok((source, client))
}

/// Returns `true` if documents that lead to sets of a Source did not arrive.
fn lacks_sets(source: &Discovered) -> bool {
    source.troubles.iter().any(|trouble| trouble.costs_a_set)
}
