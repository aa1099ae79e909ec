use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::{client::legacy::connect::Connection as _, rt::TokioIo};
use tokio::net::TcpStream;

/// A connection, and whether it ends at a proxy that wants to be told the whole URI.
pub(crate) struct Stream {
    pub(crate) inner: MaybeHttpsStream<TokioIo<TcpStream>>,
    pub(crate) proxied: bool,
}

impl Stream {
    /// Whether TLS has agreed on HTTP/2.
    pub(crate) fn speaks_http_2(&self) -> bool {
        self.inner.connected().is_negotiated_h2()
    }

    fn inner(self: Pin<&mut Self>) -> Pin<&mut MaybeHttpsStream<TokioIo<TcpStream>>> {
        Pin::new(&mut self.get_mut().inner)
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
