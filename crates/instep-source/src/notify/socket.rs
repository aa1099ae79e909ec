//! A topic over HTTP: a WebSocket, server-sent events, or the last message.

use std::{convert::Infallible, ops::Deref, sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use bytes::Bytes;
use futures_util::{SinkExt as _, Stream, StreamExt, stream};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use tokio::{
    sync::{broadcast, watch},
    time::{interval, timeout},
};
use tokio_tungstenite::tungstenite::{
    Message, Utf8Bytes,
    protocol::{CloseFrame, frame::coding::CloseCode},
};

use super::{
    channel::NotificationChannel,
    upgrade::{Handshake, ListenerSocket},
};
use crate::serve::methods::{self, READ_ONLY};

/// The pause between pings. A listener that has not answered one is dropped at the next.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// The time that a listener may take to accept a message.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// The messages that a listener may send between two pings.
const MOST_MESSAGES: u32 = 100;

/// The state of the routes of a topic.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    pub(crate) channel: Arc<NotificationChannel>,
    /// Nothing follows the last message, which is kept for late listeners.
    pub(crate) has_ended: bool,
    pub(crate) ending: watch::Receiver<bool>,
    /// The only origin that may open a socket; `None` for any, because any may read the documents.
    pub(crate) origin: Option<Arc<str>>,
}

/// Answers a request for a topic.
pub(crate) async fn topic(State(topic): State<Topic>, mut request: Request) -> Response {
    let handshake = Handshake::of(&mut request);
    let (method, headers) = (request.method(), request.headers());
    let asked = match handshake {
        Handshake::Asked(asked) => asked,
        Handshake::Refused(refusal) => return refusal.into_response(),
        Handshake::Absent if method != Method::GET && method != Method::HEAD => {
            return methods::answer(method, READ_ONLY);
        }
        Handshake::Absent => return read(&topic, headers),
    };
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let is_foreign = |own: &Arc<str>| origin.is_some_and(|origin| !own.eq_ignore_ascii_case(origin));
    if topic.origin.as_ref().is_some_and(is_foreign) {
        return StatusCode::FORBIDDEN.into_response();
    }
    // From here on no message is missed, even if the handshake takes long.
    let messages = topic.channel.listen();
    let first = topic.channel.last().filter(|_| topic.has_ended);
    asked.accept(move |socket| send_messages(socket, first, messages, topic.ending))
}

/// Answers a request without a handshake: with server-sent events if it accepts them, otherwise with the last message.
fn read(topic: &Topic, headers: &HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let mut response = if accept.contains("text/event-stream") {
        events(topic.channel.listen(), "message", topic.ending.clone())
    } else {
        match topic.channel.last() {
            Some(text) => ([(header::CONTENT_TYPE, "application/xml")], Bytes::from(text)).into_response(),
            None => StatusCode::NO_CONTENT.into_response(),
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::LINK, topic.channel.links());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    response
}

/// Sends messages as server-sent events; a client that is too slow is dropped, and connects again.
pub(crate) fn events<T>(
    messages: broadcast::Receiver<T>,
    name: &'static str,
    ending: watch::Receiver<bool>,
) -> Response
where
    T: Deref<Target = str> + Clone + Send + 'static,
{
    let next = move |mut messages: broadcast::Receiver<T>| async move {
        let message = messages.recv().await.ok()?;
        let event = Event::default().event(name).data(message.trim_end());
        Some((Ok::<_, Infallible>(event), messages))
    };
    let events = stream::unfold(messages, next).take_until(end(ending));
    keep_alive(events)
}

fn keep_alive(events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static) -> Response {
    Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response()
}

async fn end(mut ending: watch::Receiver<bool>) {
    // A dropped sender means the same.
    let _ = ending.wait_for(|is_ending| *is_ending).await;
}

/// The close of a listener that sends too much.
const TOO_MUCH: (CloseCode, &str) =
    (CloseCode::Policy, "messages go from the Source to the Destination only");

/// Sends each message to one listener until either side has enough.
async fn send_messages(
    mut socket: ListenerSocket,
    first: Option<Utf8Bytes>,
    mut messages: broadcast::Receiver<Utf8Bytes>,
    ending: watch::Receiver<bool>,
) {
    if let Some(first) = first
        && !send(&mut socket, Message::Text(first)).await
    {
        return;
    }
    let mut heartbeat = interval(HEARTBEAT);
    heartbeat.reset();
    let (mut answered, mut received) = (true, 0);
    let ending = end(ending);
    let mut ending = std::pin::pin!(ending);
    let (code, reason) = loop {
        let sent = tokio::select! {
            message = messages.recv() => match message {
                Ok(text) => send(&mut socket, Message::Text(text)).await,
                Err(broadcast::error::RecvError::Lagged(_)) => break (CloseCode::Again, "too slow: read the Change List"),
                Err(broadcast::error::RecvError::Closed) => break (CloseCode::Away, "the channel ended"),
            },
            message = socket.next() => match message {
                Some(Err(_)) if socket.get_ref().is_spent() => break TOO_MUCH,
                None | Some(Err(_)) => return,
                Some(Ok(Message::Close(_))) => return answer_close(socket).await,
                Some(Ok(message)) => {
                    answered |= matches!(message, Message::Pong(_));
                    received += 1;
                    if received > MOST_MESSAGES {
                        break TOO_MUCH;
                    }
                    true
                }
            },
            _ = heartbeat.tick() => {
                received = 0;
                socket.get_mut().renew();
                std::mem::take(&mut answered) && send(&mut socket, Message::Ping(Bytes::new())).await
            }
            () = &mut ending => break (CloseCode::Away, "the Source ends"),
        };
        if !sent {
            return;
        }
    };
    send(&mut socket, Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
}

/// Answers the close of a listener: its answer is sent while the rest is read (RFC 6455 §5.5.1).
async fn answer_close(mut socket: ListenerSocket) {
    let rest = async { while let Some(Ok(_)) = socket.next().await {} };
    let _ = timeout(SEND_TIMEOUT, rest).await;
}

/// Sends a message. Returns `true` if the client took it in time.
async fn send(socket: &mut ListenerSocket, message: Message) -> bool {
    matches!(timeout(SEND_TIMEOUT, socket.send(message)).await, Ok(Ok(())))
}

#[cfg(test)]
mod tests {
    use axum::{Router, routing::any};
    use resourcesync::Capability;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
    };

    use super::*;
    use crate::{render::SourcePlace, serve};

    const HANDSHAKE: &[u8] =
        b"GET /topic HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

    /// Time passes only while everybody waits.
    #[tokio::test(start_paused = true)]
    async fn w9_a_listener_that_does_not_read_is_dropped_and_holds_nobody_up() {
        let place = SourcePlace::new("http://example.com/").unwrap().set("");
        let channel = NotificationChannel::new(&place, &Capability::ChangeNotification, Vec::new());
        let (_end, ending) = watch::channel(false);
        let state = Topic { channel: Arc::clone(&channel), has_ended: false, ending, origin: None };
        let app = Router::new().route("/topic", any(topic).with_state(state));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve::run(listener, app, serve::ServerLimits::default(), std::future::pending()));

        let mut slow = TcpStream::connect(address).await.unwrap();
        slow.write_all(HANDSHAKE).await.unwrap();
        let mut answer = [0; 12];
        slow.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 101");
        let message = Bytes::from(vec![b'x'; 256 * 1024]);
        while channel.listeners() > 0 {
            channel.send(&message);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
