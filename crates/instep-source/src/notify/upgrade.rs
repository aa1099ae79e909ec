//! WebSockets: the handshake (RFC 6455 §4.2), and how much a listener may send. Bytes are counted below the frames: of a
//! fragmented message no part shows above them, however many there are, and empty ones least of all (C18).

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, Method, StatusCode, Version, header};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        handshake::derive_accept_key,
        protocol::{Role, WebSocketConfig},
    },
};

/// The largest message that a listener may send. The standard defines none in this direction (N8-3).
const MOST_BYTES: usize = 4 * 1024;
/// The bytes that a listener may send until its allowance is renewed.
const ALLOWANCE: usize = 4 * MOST_BYTES;

/// A socket whose listener may send little.
pub(super) type ListenerSocket = WebSocketStream<Metered<TokioIo<Upgraded>>>;

/// The version of the protocol, the only one that was ever standardized.
const VERSION: &str = "13";

/// The kind of connection that a request asks for.
pub(super) enum Handshake {
    /// A WebSocket, as the protocol allows it.
    Asked(SocketRequest),
    /// A socket, in a way that the protocol does not allow (C30).
    Refused(HandshakeRefusal),
    /// No WebSocket: the request is answered like any other.
    Absent,
}

/// The reason why a handshake is refused (RFC 6455 §4.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandshakeRefusal {
    /// The key is missing, repeated, or not 16 bytes in base64.
    Key,
    /// The version of the protocol is missing or another one: the answer is 426 and names the right one.
    Version,
}

impl IntoResponse for HandshakeRefusal {
    fn into_response(self) -> Response {
        match self {
            Self::Key => {
                (StatusCode::BAD_REQUEST, "Sec-WebSocket-Key: send 16 bytes in base64\n").into_response()
            }
            Self::Version => {
                // The header field names the version that is understood (RFC 6455 §4.4).
                let headers = [
                    (header::CONNECTION, "upgrade"),
                    (header::UPGRADE, "websocket"),
                    (header::SEC_WEBSOCKET_VERSION, VERSION),
                ];
                (StatusCode::UPGRADE_REQUIRED, headers, Body::empty()).into_response()
            }
        }
    }
}

/// A request for a socket.
pub(super) struct SocketRequest {
    on_upgrade: OnUpgrade,
    accept: String,
}

impl Handshake {
    /// Takes the handshake out of a request.
    pub(super) fn of(request: &mut Request) -> Self {
        let headers = request.headers();
        let asks = request.method() == Method::GET
            && request.version() == Version::HTTP_11
            && has_token(headers, &header::CONNECTION, "upgrade")
            && has_token(headers, &header::UPGRADE, "websocket");
        if !asks {
            return Self::Absent;
        }
        if only(headers, &header::SEC_WEBSOCKET_VERSION) != Some(VERSION) {
            return Self::Refused(HandshakeRefusal::Version);
        }
        let Some(key) = only(headers, &header::SEC_WEBSOCKET_KEY).filter(|key| is_nonce(key)) else {
            return Self::Refused(HandshakeRefusal::Key);
        };
        let accept = derive_accept_key(key.as_bytes());
        match request.extensions_mut().remove::<OnUpgrade>() {
            Some(on_upgrade) => Self::Asked(SocketRequest { on_upgrade, accept }),
            None => Self::Absent,
        }
    }
}

impl SocketRequest {
    /// Accepts the handshake, and serves the socket once the client has the answer.
    pub(super) fn accept<F>(self, serve: impl FnOnce(ListenerSocket) -> F + Send + 'static) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Self { on_upgrade, accept } = self;
        tokio::spawn(async move {
            // A client that disconnects during the handshake needs nothing more.
            let Ok(upgraded) = on_upgrade.await else { return };
            let stream = Metered { stream: TokioIo::new(upgraded), left: ALLOWANCE };
            // Small buffers: thousands listen, and messages only leave.
            let config = WebSocketConfig::default()
                .read_buffer_size(1024)
                .write_buffer_size(0)
                .max_message_size(Some(MOST_BYTES))
                .max_frame_size(Some(MOST_BYTES));
            serve(WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await).await;
        });
        let headers = [
            (header::CONNECTION, "upgrade"),
            (header::UPGRADE, "websocket"),
            (header::SEC_WEBSOCKET_ACCEPT, &*accept),
        ];
        (StatusCode::SWITCHING_PROTOCOLS, headers, Body::empty()).into_response()
    }
}

/// Returns the value of a field that is there exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut fields = headers.get_all(name).into_iter();
    let field = fields.next()?.to_str().ok()?;
    fields.next().is_none().then_some(field.trim())
}

/// Returns `true` for 16 bytes in base64: 22 characters, and two that fill the last group.
fn is_nonce(key: &str) -> bool {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    key.strip_suffix("==").is_some_and(|text| text.len() == 22 && text.bytes().all(is_base64))
}

fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    let fields = headers.get_all(name).into_iter().filter_map(|field| field.to_str().ok());
    fields.flat_map(|field| field.split(',')).any(|one| one.trim().eq_ignore_ascii_case(token))
}

/// A stream that ends with an error when more is read of it than was allowed.
pub(super) struct Metered<S> {
    stream: S,
    left: usize,
}

impl<S> Metered<S> {
    /// Allows as much as at first.
    pub(super) fn renew(&mut self) {
        self.left = ALLOWANCE;
    }

    /// Returns `true` if the allowance is used up.
    pub(super) fn is_spent(&self) -> bool {
        self.left == 0
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0 {
            return Poll::Ready(Err(io::Error::other("the listener sends too much")));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.left = self.left.saturating_sub(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
