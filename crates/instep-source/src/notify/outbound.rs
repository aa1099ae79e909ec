//! Hubs elsewhere: each gets every notification by POST (CN-9).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use resourcesync::Uri;
use tokio::{runtime::Handle, sync::mpsc, time::sleep};
use url::Url;

use super::{channel::Channel, client::Client, transport::Transport};
use crate::Error;

/// Notifications that may wait for a hub; when there are more, new ones are left out: who misses them reads the
/// Change List.
const BACKLOG: usize = 64;
/// Waits before further attempts; an answer of 5xx is no loss yet.
const WAITS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(25)];

/// A hub that somebody else runs.
#[derive(Debug)]
pub(super) struct ExternalHub {
    messages: mpsc::Sender<(HeaderValue, Bytes)>,
}

impl ExternalHub {
    /// Tells a hub from a task of its own.
    pub(super) fn start(hub: &Uri, runtime: &Handle) -> Result<Self, Error> {
        let wrong = |what: String| Error::option("hub", format!("{hub}: {what}"));
        let url = Url::parse(hub.as_str()).map_err(|error| wrong(error.to_string()))?;
        let client = Client::trusting().map_err(|error| wrong(error.to_string()))?;
        let (messages, waiting) = mpsc::channel(BACKLOG);
        runtime.spawn(tell(url, client, waiting));
        Ok(Self { messages })
    }
}

impl Transport for ExternalHub {
    fn send(&self, channel: &Arc<Channel>, document: &Bytes) -> Result<(), Error> {
        if self.messages.try_send((channel.links(), document.clone())).is_err() {
            tracing::warn!(topic = %channel.topic(), "a hub is behind; a notification is left out");
        }
        Ok(())
    }
}

async fn tell(hub: Url, client: Client, mut waiting: mpsc::Receiver<(HeaderValue, Bytes)>) {
    while let Some((links, body)) = waiting.recv().await {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        headers.insert(header::LINK, links);
        for wait in [Duration::ZERO].into_iter().chain(WAITS) {
            sleep(wait).await;
            let answer = client.send(Method::POST, &hub, headers.clone(), body.clone()).await;
            let status = answer.map(|answer| answer.status);
            if status.is_some_and(|status| status < 500) {
                if !status.is_some_and(|status| (200..300).contains(&status)) {
                    tracing::warn!(%hub, status, "a hub refuses a notification");
                }
                break;
            }
        }
    }
}
