//! An open connection as bytes.

use std::{
    fmt, io,
    pin::Pin,
    task::{Context, Poll},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::{client::legacy::connect::Connection as _, rt::TokioIo};
use tokio::net::TcpStream;

/// An open connection, with or without TLS. It reads and writes as [`hyper::rt`] has it; `hyper_util::rt::TokioIo`
/// makes it one of tokio.
pub struct Stream {
    inner: MaybeHttpsStream<TokioIo<TcpStream>>,
    is_proxied: bool,
}

impl Stream {
    /// Creates a stream whose other end is the origin, directly or through a tunnel.
    pub(crate) fn with_origin(inner: MaybeHttpsStream<TokioIo<TcpStream>>) -> Self {
        Self { inner, is_proxied: false }
    }

    /// Creates a stream whose other end is a proxy, which expects the complete URI in each request.
    pub(crate) fn with_proxy(inner: MaybeHttpsStream<TokioIo<TcpStream>>) -> Self {
        Self { inner, is_proxied: true }
    }

    pub(crate) fn is_proxied(&self) -> bool {
        self.is_proxied
    }

    /// Returns `true` if TLS has agreed on HTTP/2.
    pub(crate) fn speaks_http_2(&self) -> bool {
        self.inner.connected().is_negotiated_h2()
    }

    fn inner(self: Pin<&mut Self>) -> Pin<&mut MaybeHttpsStream<TokioIo<TcpStream>>> {
        Pin::new(&mut self.get_mut().inner)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_secure = matches!(self.inner, MaybeHttpsStream::Https(_));
        f.debug_struct("Stream").field("is_secure", &is_secure).finish_non_exhaustive()
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.inner().poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.inner().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(context)
    }
}
