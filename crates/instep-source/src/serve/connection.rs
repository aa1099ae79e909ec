//! Connections: how many, how long, and how they end.

mod answer;
mod places;

use std::{
    convert::Infallible,
    future::Future,
    io,
    net::IpAddr,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Router, body::Body};
use http::Request;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use instep_store::Shortage;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    time::{sleep, sleep_until, timeout},
};
use tower::ServiceExt;

use super::{address, stall::StallGuard, tls::Tls};
use answer::AnswerBody;
use places::{ConnectionPlace, ConnectionPlaces};

/// Bounds of the resources that clients can use (S10).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerLimits {
    /// Connections at a time; fewer if this process may not open two files for each. For a further one the connection
    /// that has been idle longest is closed; while none is idle it waits to be accepted.
    pub connections: usize,
    /// Connections at a time from one address, or one IPv6 network of 64 bits; loopback addresses have no limit, as
    /// proxies are there. A further one takes the place of the one that has been idle longest; while none is idle it
    /// is closed.
    pub connections_per_address: usize,
    /// Bytes of the headers of a request.
    pub header_bytes: usize,
    /// Time for the first request of a connection to arrive, from its acceptance, the handshake of TLS included; and
    /// time for the next one on HTTP/1.1.
    pub header_timeout: Duration,
    /// The time that a client may take without accepting any byte of an answer.
    pub stall_timeout: Duration,
    /// The time that answers in flight may take after the server was asked to stop.
    pub grace: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            connections_per_address: 1_000,
            header_bytes: 64 * 1024,
            header_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(60),
            grace: Duration::from_secs(30),
        }
    }
}

/// Serves a router on a listener until `shutdown`; then finishes current answers and ends.
///
/// # Errors
/// If the listener fails permanently.
pub async fn run(
    listener: TcpListener,
    app: Router,
    limits: ServerLimits,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    serve_on(listener, app, limits, None, shutdown).await
}

/// Serves as [`run`] does, over TLS.
///
/// # Errors
/// As for [`run`].
#[cfg(feature = "tls")]
pub async fn run_tls(
    listener: TcpListener,
    app: Router,
    limits: ServerLimits,
    tls: Tls,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    serve_on(listener, app, limits, Some(tls), shutdown).await
}

/// An origin of connections.
pub(crate) trait ConnectionListener: Send {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Waits for the next connection, and returns it with its address if it has one.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Stream, Option<IpAddr>)>> + Send;
}

impl ConnectionListener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<(TcpStream, Option<IpAddr>)> {
        let (stream, address) = Self::accept(self).await?;
        // Answers are written completely; waiting for more would only delay them.
        let _ = stream.set_nodelay(true);
        Ok((stream, Some(address.ip())))
    }
}

impl ConnectionListener for UnixListener {
    type Stream = UnixStream;

    async fn accept(&self) -> io::Result<(UnixStream, Option<IpAddr>)> {
        Self::accept(self).await.map(|(stream, _)| (stream, None))
    }
}

/// Serves on a listener of any kind, over TLS if there is a certificate.
pub(crate) async fn serve_on<L: ConnectionListener>(
    listener: L,
    app: Router,
    limits: ServerLimits,
    tls: Option<Tls>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let most = limits.connections.min(address::most_connections());
    let places = ConnectionPlaces::new(most, limits.connections_per_address);
    let protocols = protocols(&limits);
    let graceful = GracefulShutdown::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let (stream, place) = tokio::select! {
            biased;
            () = &mut shutdown => break,
            accepted = next(&listener, &places) => accepted?,
        };
        let connection = ServedConnection {
            protocols: protocols.clone(),
            app: app.clone(),
            limits: limits.clone(),
            tls: tls.clone(),
            watcher: graceful.watcher(),
            place,
        };
        tokio::spawn(connection.serve(stream));
    }
    drop(listener);
    // Answers that never end (channels, events) end with the application; others get their time.
    let _ = timeout(limits.grace, graceful.shutdown()).await;
    Ok(())
}

async fn next<L: ConnectionListener>(
    listener: &L,
    places: &Arc<ConnectionPlaces>,
) -> io::Result<(L::Stream, Arc<ConnectionPlace>)> {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                places.free().await;
                if let Some(place) = places.take(address) {
                    return Ok((stream, place));
                }
                tracing::debug!(target: "instep::connection", ?address, "closed: too many from this address");
            }
            // The client is gone already, or no descriptor is free for the moment. The listener continues after both.
            Err(error) if is_passing(&error) => {
                if is_out_of_descriptors(&error) {
                    places.close_idle();
                }
                sleep(Duration::from_millis(50)).await;
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    ) || is_out_of_descriptors(error)
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    Shortage::behind(error) == Some(Shortage::OpenFiles)
}

fn protocols(limits: &ServerLimits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(limits.header_bytes.max(8 * 1024))
        .max_headers(100);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.header_timeout)
        .keep_alive_timeout(limits.header_timeout)
        .max_concurrent_streams(256)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(20);
    builder
}

struct ServedConnection {
    protocols: auto::Builder<TokioExecutor>,
    app: Router,
    limits: ServerLimits,
    tls: Option<Tls>,
    watcher: hyper_util::server::graceful::Watcher,
    place: Arc<ConnectionPlace>,
}

impl ServedConnection {
    /// Serves a connection until it ends, its first request is overdue, or it has to give up its place.
    async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(self, stream: S) {
        let place = Arc::clone(&self.place);
        let first_request_by = (Instant::now() + self.limits.header_timeout).into();
        let overdue = async {
            tokio::select! {
                () = place.begun() => std::future::pending().await,
                () = sleep_until(first_request_by) => {}
            }
        };
        let reason = tokio::select! {
            () = self.answer(stream) => return,
            () = overdue => "no request came in time",
            () = place.given_up() => "its place was needed",
        };
        tracing::debug!(target: "instep::connection", reason, "connection closed");
    }

    async fn answer<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(self, stream: S) {
        let stream = StallGuard::new(stream, self.limits.stall_timeout);
        match &self.tls {
            None => self.speak(stream).await,
            Some(tls) => {
                if let Ok(stream) = tls.accept(stream).await {
                    self.speak(stream).await;
                }
            }
        }
    }

    async fn speak<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(self, stream: S) {
        let place = self.place;
        let app = self.app.map_request(|request: Request<hyper::body::Incoming>| request.map(Body::new));
        let app = app.map_err(|never: Infallible| match never {});
        // Outermost, so that a request is in flight from its headers to the end of its answer.
        let app = tower::service_fn(move |request| {
            let (in_flight, app) = (place.request(), app.clone());
            async move {
                let response = app.oneshot(request).await?;
                Ok::<_, Infallible>(response.map(|body| AnswerBody::new(body, in_flight)))
            }
        });
        let connection = self
            .protocols
            .serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(app));
        if let Err(error) = self.watcher.watch(connection.into_owned()).await {
            tracing::debug!(target: "instep::connection", %error, "connection ended");
        }
    }
}
