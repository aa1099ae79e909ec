//! A body while it arrives, bounded in time.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};

use crate::{
    error::{HttpError, RequestPhase},
    flight::Flight,
    host::Permit,
    observer::BodyObserver,
    pool::PooledBody,
    rate::Rate,
    unconnected::broken_body,
};

/// A body that arrives piece by piece. The timeout and the bandwidth limit of the client hold for it.
pub struct Body {
    incoming: PooledBody,
    uri: Arc<str>,
    timeout: Duration,
    window: Option<Window>,
    bandwidth: Option<Arc<Rate>>,
    permit: Permit,
    flight: Flight,
    observer: Option<Box<dyn BodyObserver>>,
}

/// A stretch of time in which 1 KiB for each second must arrive (D28). A server that drips a byte a second would
/// otherwise hold a transfer forever.
struct Window {
    end: Pin<Box<Sleep>>,
    bytes: u64,
}

impl Body {
    pub(crate) fn new(
        incoming: PooledBody,
        uri: Arc<str>,
        timeout: Duration,
        bandwidth: Option<Arc<Rate>>,
        permit: Permit,
        flight: Flight,
    ) -> Self {
        Self { incoming, uri, timeout, window: None, bandwidth, permit, flight, observer: None }
    }

    /// Passes everything that arrives to an observer.
    pub(crate) fn observed_by(mut self, observer: Option<Box<dyn BodyObserver>>) -> Self {
        self.observer = observer;
        self
    }

    /// Returns the next piece; `None` at the end.
    ///
    /// # Errors
    /// If the transfer breaks off or stalls. An end before `Content-Length` bytes, or before the last chunk, is such a
    /// break.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        let Some(data) = poll_fn(|context| self.poll_data(context)).await? else { return Ok(None) };
        self.permit.count(data.len() as u64);
        self.flight.count(data.len() as u64);
        if let Some(observer) = &mut self.observer {
            observer.data(&data);
        }
        if let Some(bandwidth) = &self.bandwidth {
            bandwidth.take(data.len() as u64).await;
        }
        Ok(Some(data))
    }

    /// Returns the complete body; `None` if it has more than `most` bytes.
    ///
    /// # Errors
    /// As [`Self::chunk`].
    pub async fn read_up_to(&mut self, most: usize) -> Result<Option<Bytes>, HttpError> {
        let mut all = Vec::new();
        while let Some(data) = self.chunk().await? {
            if all.len() + data.len() > most {
                return Ok(None);
            }
            all.extend_from_slice(&data);
        }
        Ok(Some(all.into()))
    }

    /// Returns `true` if everything has arrived.
    pub fn is_end(&self) -> bool {
        self.incoming.is_end()
    }

    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, HttpError>> {
        loop {
            match self.incoming.poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    self.arrived(data.len() as u64);
                    return Poll::Ready(Ok(Some(data)));
                }
                Poll::Ready(Some(Err(source))) => {
                    let uri = self.uri.as_ref().to_owned();
                    return Poll::Ready(Err(HttpError::Transfer { uri, source: broken_body(source) }));
                }
                Poll::Ready(None) if self.incoming.is_end() => return Poll::Ready(Ok(None)),
                Poll::Ready(None) => {
                    let uri = self.uri.as_ref().to_owned();
                    let source = "the server gave up the answer before its end".into();
                    return Poll::Ready(Err(HttpError::Transfer { uri, source }));
                }
                Poll::Pending => ready!(self.poll_window(context))?,
            }
        }
    }

    fn arrived(&mut self, bytes: u64) {
        let Some(window) = &mut self.window else { return };
        window.bytes += bytes;
        // The time in which the caller requested no data does not count against the server.
        if window.end.is_elapsed() {
            self.window = None;
        }
    }

    fn poll_window(&mut self, context: &mut Context<'_>) -> Poll<Result<(), HttpError>> {
        let timeout = self.timeout;
        let window = self.window.get_or_insert_with(|| Window { end: Box::pin(sleep(timeout)), bytes: 0 });
        ready!(window.end.as_mut().poll(context));
        if (window.bytes as f64) < timeout.as_secs_f64() * 1024.0 {
            self.incoming.abandon();
            let uri = self.uri.as_ref().to_owned();
            return Poll::Ready(Err(HttpError::Timeout { uri, phase: RequestPhase::Body, limit: timeout }));
        }
        window.bytes = 0;
        window.end.as_mut().reset(Instant::now() + timeout);
        Poll::Ready(Ok(()))
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Some(observer) = self.observer.take() {
            observer.ended(self.incoming.is_end());
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("uri", &self.uri).finish_non_exhaustive()
    }
}
