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
/// Pauses before further attempts after a fault that may pass. A hub that is down for longer misses the notification.
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
    fn send(&self, channel: &Arc<NotificationChannel>, document: &Bytes) {
        if self.messages.try_send((channel.links(), document.clone())).is_err() {
            tracing::warn!(topic = %channel.topic(), "a hub is behind; a notification is dropped");
        }
    }
}

async fn deliver(hub: Uri, client: CallbackClient, mut waiting: mpsc::Receiver<(HeaderValue, Bytes)>) {
    while let Some((links, body)) = waiting.recv().await {
        let headers = HeaderMap::from_iter([(header::LINK, links)]);
        let mut status = None;
        for pause in [Duration::ZERO].into_iter().chain(PAUSES) {
            sleep(pause).await;
            status = client.post(hub.clone(), body.clone(), headers.clone()).await;
            if !is_temporary(status) {
                break;
            }
        }
        match status {
            Some(200..=299) => {}
            Some(status) => tracing::warn!(%hub, status, "a hub has not taken a notification"),
            None => tracing::warn!(%hub, "a hub has not taken a notification: it does not answer"),
        }
    }
}

/// Returns `true` if a later attempt may succeed: there was no answer, a fault of the server, or the hub is busy.
fn is_temporary(status: Option<u16>) -> bool {
    status.is_none_or(|status| status >= 500 || matches!(status, 408 | 425 | 429))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o261_a_hub_that_is_busy_gets_the_notification_again() {
        for status in [None, Some(408), Some(429), Some(500), Some(503)] {
            assert!(is_temporary(status), "{status:?}");
        }
        for status in [200, 204, 302, 400, 404, 410] {
            assert!(!is_temporary(Some(status)), "{status}");
        }
    }
}
