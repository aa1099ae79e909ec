use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _};
use resourcesync::Uri;
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};
use tokio_tungstenite::{
    client_async_with_config,
    tungstenite::{Message, client::IntoClientRequest as _, protocol::WebSocketConfig},
};

use crate::http::{Client, Origin};

/// Bytes of one message: a notification is small, and only the fact that it came matters (W9).
const MOST_BYTES: usize = 1 << 20;
/// A channel that is silent for so long is asked whether it is still there.
const SILENCE: Duration = Duration::from_secs(60);
/// The first and the longest pause before a channel is opened again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(120));

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Keeps a channel open for as long as anybody listens.
pub(super) async fn listen(
    client: &Client,
    uri: &str,
    speaker: &Origin,
    hint: &Notify,
    connected: &AtomicBool,
) {
    let mut pause = PAUSES.0;
    loop {
        if let Err(error) = listen_once(client, uri, speaker, hint, connected).await {
            tracing::debug!(uri, %error, "the channel is closed");
        }
        pause = if connected.swap(false, Relaxed) { PAUSES.0 } else { (pause * 2).min(PAUSES.1) };
        sleep(pause).await;
    }
}

async fn listen_once(
    client: &Client,
    uri: &str,
    speaker: &Origin,
    hint: &Notify,
    connected: &AtomicBool,
) -> Result<(), Failure> {
    // What is asked of a channel's origin is what is asked of any: http for ws, https for wss.
    let over_http = Uri::parse(&uri.replacen("ws", "http", 1))?;
    let stream = client.connect(&over_http, speaker).await?;
    let config =
        WebSocketConfig::default().max_message_size(Some(MOST_BYTES)).max_frame_size(Some(MOST_BYTES));
    let opening = client_async_with_config(uri.into_client_request()?, stream, Some(config));
    let (mut channel, _) = timeout(client.options().timeout, opening).await??;
    connected.store(true, Relaxed);
    // What happened before the channel was open is in the Change List.
    hint.notify_one();
    let mut asked = false;
    loop {
        match timeout(SILENCE, channel.next()).await {
            Ok(None) => return Ok(()),
            Ok(Some(message)) => {
                asked = false;
                if matches!(message?, Message::Text(_) | Message::Binary(_)) {
                    hint.notify_one();
                }
            }
            Err(_) if asked => return Err("it does not answer".into()),
            Err(_) => {
                asked = true;
                channel.send(Message::Ping(Vec::new().into())).await?;
            }
        }
    }
}
