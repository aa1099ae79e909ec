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

/// A request for a socket.
pub(super) struct SocketRequest {
    on_upgrade: OnUpgrade,
    accept: String,
}

impl SocketRequest {
    /// Takes the handshake out of a request; `None` if it is another request.
    pub(super) fn of(request: &mut Request) -> Option<Self> {
        let headers = request.headers();
        let asks = request.method() == Method::GET
            && request.version() == Version::HTTP_11
            && has_token(headers, &header::CONNECTION, "upgrade")
            && has_token(headers, &header::UPGRADE, "websocket")
            && has_token(headers, &header::SEC_WEBSOCKET_VERSION, "13");
        let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| asks)?;
        let accept = derive_accept_key(key.as_bytes());
        let on_upgrade = request.extensions_mut().remove::<OnUpgrade>()?;
        Some(Self { on_upgrade, accept })
    }

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
