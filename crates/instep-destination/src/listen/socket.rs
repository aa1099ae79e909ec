//! A channel over a WebSocket: opens it, receives its messages, and opens it again when it was lost.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use hyper_util::rt::TokioIo;
use instep_net::{Client, Origin};
use resourcesync::Uri;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_tungstenite::{
    client_async_with_config,
    tungstenite::{Message as Frame, client::IntoClientRequest as _, protocol::WebSocketConfig},
};

use super::{ChannelMessage, ChannelState, Inbox, Name, backoff::Backoff};

/// The largest message that is accepted, in bytes. Notifications are much smaller (W9).
const MOST_BYTES: usize = 1 << 20;
/// The time without a frame after which a ping is sent. If nothing arrives for the same time after it, the channel is
/// closed.
const SILENCE: Duration = Duration::from_secs(60);
/// The first and the longest pause before a channel is opened again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(120));

type SocketFailure = Box<dyn std::error::Error + Send + Sync>;

/// A channel over a WebSocket.
pub(super) struct Socket {
    pub(super) client: Client,
    /// The URIs to try in turn.
    pub(super) uris: Vec<Uri>,
    pub(super) speaker: Origin,
    pub(super) name: Name,
    pub(super) inbox: Arc<Inbox>,
    pub(super) state: Arc<ChannelState>,
}

impl Socket {
    /// Keeps the channel open while this future lives. `failed` becomes `true` if it cannot be opened.
    pub(super) async fn listen(self, failed: watch::Sender<bool>) {
        let mut backoff = Backoff::new(PAUSES.0, PAUSES.1);
        for uri in self.uris.iter().cycle() {
            let began = Instant::now();
            if let Err(error) = self.listen_once(uri).await {
                tracing::debug!(%uri, %error, "the channel is closed");
            }
            let well = if self.state.set_connected(false) {
                // The channel may have been withdrawn. The Capability List decides, so the Source is read (FN-6).
                self.inbox.look();
                began.elapsed()
            } else {
                failed.send_replace(true);
                Duration::ZERO
            };
            sleep(backoff.after(well)).await;
        }
    }

    async fn listen_once(&self, uri: &Uri) -> Result<(), SocketFailure> {
        // The scope knows only http and https, so the origin of a channel is checked like that of a document.
        let over_http = Uri::parse(&format!("http{}", &uri.as_str()[2..]))?;
        let stream = TokioIo::new(self.client.connect(&over_http, &self.speaker).await?);
        let config =
            WebSocketConfig::default().max_message_size(Some(MOST_BYTES)).max_frame_size(Some(MOST_BYTES));
        let mut request = uri.as_str().into_client_request()?;
        request.headers_mut().extend(self.client.identity(&over_http)?);
        let opening = client_async_with_config(request, stream, Some(config));
        let (mut channel, _) = timeout(self.client.options().timeout, opening).await??;
        // The channel is opened first and the Source is read then: a change in between arrives twice, and none is
        // missed.
        self.state.set_connected(true);
        // Changes from before the channel was open are only in the Change List.
        self.inbox.look();
        let mut asked = false;
        loop {
            match timeout(SILENCE, channel.next()).await {
                Ok(None) => return Ok(()),
                Ok(Some(frame)) => {
                    asked = false;
                    match frame? {
                        Frame::Text(text) => self.take(text.into()),
                        Frame::Binary(bytes) => self.take(bytes),
                        _ => {}
                    }
                }
                Err(_) if asked => return Err("it does not answer".into()),
                Err(_) => {
                    asked = true;
                    channel.send(Frame::Ping(Bytes::new())).await?;
                }
            }
        }
    }

    fn take(&self, body: Bytes) {
        let (set, kind) = self.name.clone();
        self.inbox.put(ChannelMessage { set, kind, body });
    }
}
