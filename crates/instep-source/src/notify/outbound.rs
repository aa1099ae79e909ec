//! Hubs elsewhere: each gets every notification by POST (CN-9).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use resourcesync::Uri;
use tokio::{runtime::Handle, sync::mpsc, time::sleep};

use super::{channel::NotificationChannel, client::CallbackClient, transport::Transport};
use crate::Error;

/// Notifications that may wait for a hub. Further ones are dropped: the hub's subscribers see the gap in the next
/// one, and read the Change List.
const BACKLOG: usize = 64;
/// Pauses before further attempts after a 5xx or no answer. A hub that is down for longer misses the notification.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(25)];

/// A hub of another operator, with its own queue: a slow one delays neither publications nor other hubs.
#[derive(Debug)]
pub(super) struct ExternalHub {
    messages: mpsc::Sender<(HeaderValue, Bytes)>,
}

impl ExternalHub {
    /// Starts the task that delivers to a hub.
    pub(super) fn start(hub: &Uri, runtime: &Handle) -> Result<Self, Error> {
        let wrong = |what: String| Error::option("hub", format!("{hub}: {what}"));
        let client = CallbackClient::trusting(hub).map_err(|error| wrong(error.to_string()))?;
        let (messages, waiting) = mpsc::channel(BACKLOG);
        runtime.spawn(deliver(hub.clone(), client, waiting));
        Ok(Self { messages })
    }
}

impl Transport for ExternalHub {
    fn send(&self, channel: &Arc<NotificationChannel>, document: &Bytes) -> Result<(), Error> {
        if self.messages.try_send((channel.links(), document.clone())).is_err() {
            tracing::warn!(topic = %channel.topic(), "a hub is behind; a notification is dropped");
        }
        Ok(())
    }
}

async fn deliver(hub: Uri, client: CallbackClient, mut waiting: mpsc::Receiver<(HeaderValue, Bytes)>) {
    while let Some((links, body)) = waiting.recv().await {
        let headers = HeaderMap::from_iter([(header::LINK, links)]);
        for pause in [Duration::ZERO].into_iter().chain(PAUSES) {
            sleep(pause).await;
            let status = client.post(hub.clone(), body.clone(), headers.clone()).await;
            if status.is_some_and(|status| status < 500) {
                if !status.is_some_and(|status| (200..300).contains(&status)) {
                    tracing::warn!(%hub, status, "a hub refuses a notification");
                }
                break;
            }
        }
    }
}
