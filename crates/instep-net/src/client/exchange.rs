//! One request and its response: the wait for its host, the connection, the headers, the meaning of the status for
//! the host.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, SystemTime},
};

use http::{HeaderMap, StatusCode, Version, header};
use http_body_util::Full;
use resourcesync::Uri;
use tokio::time::{Instant, timeout};

use super::Client;
use crate::{
    body::Body,
    connection::{Connection, Multiplexed, OutgoingRequest},
    connector::BoxError,
    error::{HttpError, Refusal, RequestPhase, is_transient},
    host::Host,
    observer::Exchange,
    origin::Origin,
    pool::{ConnectionPool, PooledBody},
    request::Request,
    response::Response,
    retry,
    traffic::Traffic,
    unconnected::{connect_failure, is_closed_unanswered, unanswered_failure},
};

impl Client {
    /// Sends one message and returns its answer.
    pub(super) async fn exchange(
        &self,
        request: &Request,
        (headers, shown): (HeaderMap, Option<HeaderMap>),
        uri: &Uri,
        target: http::Uri,
        at: &Origin,
    ) -> Result<Response, HttpError> {
        let shared = &*self.0;
        let message = message(request, headers, target);
        let host = shared.hosts.get(at);
        let permit = shared.hosts.admit(&host).await?;
        shared.requests.fetch_add(1, Relaxed);
        let asked = Instant::now();
        let name = Arc::<str>::from(uri.as_str());
        let flight = shared.flights.start(Arc::clone(&name), asked);
        let answer =
            self.ask(&host, message, uri).await.inspect_err(|error| note_failure(&host, uri, error))?;
        let (mut head, incoming) = answer.into_parts();
        let has_open_end = !at.is_secure() && has_open_end(&head);
        if head.headers.contains_key(header::TRANSFER_ENCODING) {
            // The transfer coding marks the end of the body; a `Content-Length` beside it must be ignored (RFC 9112 §6.3).
            head.headers.remove(header::CONTENT_LENGTH);
        }
        if let Some(coding) = other_transfer_coding(&head.headers) {
            let source = format!("the transfer coding {coding:?} was not accepted").into();
            return Err(HttpError::Transfer { uri: uri.to_string(), source });
        }
        let latency = asked.elapsed();
        permit.note_activity();
        host.note(|traffic| traffic.answered(head.status.as_u16(), latency));
        self.judge(&host, uri, head.status, &head.headers, latency)?;
        let observer = shared.options.observer.as_ref().zip(shown).map(|(observer, request_headers)| {
            observer.answered(Exchange {
                uri,
                method: &request.method(),
                request_headers: &request_headers,
                status: head.status,
                headers: &head.headers,
                at: SystemTime::now(),
            })
        });
        let bandwidth = shared.bandwidth.clone();
        let length = head.headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
        flight.answered(head.status.as_u16(), length);
        let body = Body::new(incoming, name, shared.options.timeout, bandwidth, permit, flight);
        let body = body.observed_by(observer);
        Ok(Response { status: head.status, headers: head.headers, uri: uri.clone(), body, has_open_end })
    }

    /// Returns the headers without credentials.
    pub(super) fn open_headers(
        &self,
        request: &Request,
        own: &Origin,
        at: &Origin,
    ) -> Result<HeaderMap, Refusal> {
        let mut headers = request.headers(own == at)?;
        headers.insert(header::USER_AGENT, self.0.user_agent.clone());
        Ok(headers)
    }

    /// Adds the credentials for the destination of a request.
    pub(super) fn with_credentials(&self, mut headers: HeaderMap, at: &Origin) -> HeaderMap {
        if let Some(authorization) = self.0.connector.proxy_authorization().filter(|_| !at.is_secure()) {
            headers.insert(header::PROXY_AUTHORIZATION, authorization.clone());
        }
        self.0.options.credentials.apply(at, &mut headers);
        headers
    }

    /// Sends a message over a connection that is open, or over a new one. There are two timeouts in a row, for the
    /// connection and for the headers. If the host has closed a connection that was kept, a new one is used: hosts close
    /// such connections whenever they want, also while a request is on its way, so that this is no failed attempt.
    async fn ask(
        &self,
        host: &Host,
        mut message: OutgoingRequest,
        uri: &Uri,
    ) -> Result<http::Response<PooledBody>, HttpError> {
        let limit = self.0.options.timeout;
        let slow = |phase| HttpError::Timeout { uri: uri.to_string(), phase, limit };
        let pool = host.pool(&self.0.options.scope);
        let mut kept_has_failed = false;
        loop {
            let kept = if kept_has_failed { None } else { pool.take() };
            let is_new = kept.is_none();
            let connection = match kept {
                Some(connection) => connection,
                None => timeout(limit, self.open(host, pool, message.uri().clone()))
                    .await
                    .map_err(|_| slow(RequestPhase::Connect))?
                    .map_err(|error| connect_failure(uri, error))?,
            };
            // Only a safe method may be sent again if the first request may have arrived.
            let again = (!is_new && message.method().is_safe()).then(|| message.clone());
            let multiplexed = connection.multiplexed();
            let unanswered = match timeout(limit, pool.send(connection, message)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(unanswered)) => *unanswered,
                Err(_) => {
                    // It may be dead, and each further attempt would wait for it again.
                    multiplexed.iter().for_each(Multiplexed::abandon);
                    return Err(slow(RequestPhase::Headers));
                }
            };
            // After one failure no kept connection is tried: an HTTP/2 connection that the server is closing stays in
            // the pool until its last answer is complete, and takes no requests.
            kept_has_failed = true;
            let again = again.filter(|_| is_closed_unanswered(&unanswered.error));
            message = match unanswered.unsent.filter(|_| !is_new).or(again) {
                Some(again) => again,
                None => return Err(unanswered_failure(uri, unanswered.error)),
            };
        }
    }

    async fn open(
        &self,
        host: &Host,
        pool: &Arc<ConnectionPool>,
        target: http::Uri,
    ) -> Result<Connection, BoxError> {
        let connection = Connection::over(self.0.connector.connect(target).await?).await?;
        if pool.share(&connection) {
            host.carries_streams();
        }
        Ok(connection)
    }

    /// Records the meaning of a status for the host. Transient ones are errors.
    fn judge(
        &self,
        host: &Host,
        uri: &Uri,
        status: StatusCode,
        headers: &HeaderMap,
        latency: Duration,
    ) -> Result<(), HttpError> {
        if !is_transient(status) {
            host.succeeded(latency);
            return Ok(());
        }
        let most = self.0.options.max_retry_after;
        let retry_after = retry::requested_pause(headers, SystemTime::now(), most);
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            host.overloaded(status, retry_after);
        }
        host.failed();
        Err(HttpError::Status { uri: uri.to_string(), status, retry_after })
    }
}

/// Returns the message of a request.
fn message(request: &Request, headers: HeaderMap, target: http::Uri) -> OutgoingRequest {
    let content = request.content.as_ref().map(|(content, _)| content.clone());
    let mut message = http::Request::new(Full::new(content.unwrap_or_default()));
    *message.method_mut() = request.method();
    *message.uri_mut() = target;
    *message.headers_mut() = headers;
    message
}

/// Records a request that got no answer.
fn note_failure(host: &Host, uri: &Uri, error: &HttpError) {
    host.note(Traffic::unanswered);
    tracing::debug!(uri = %uri.as_str(), %error, "request failed");
    if matches!(error, HttpError::Timeout { .. }) {
        host.timed_out();
    }
    if error.is_transient() {
        host.failed();
    }
}

/// Returns `true` if only the end of the connection marks the end of the body.
fn has_open_end(head: &http::response::Parts) -> bool {
    let marks = [header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
    head.version < Version::HTTP_2 && !marks.iter().any(|name| head.headers.contains_key(name))
}

/// Returns a transfer coding that is still on the body: hyper removes chunks and nothing else.
fn other_transfer_coding(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all(header::TRANSFER_ENCODING).iter();
    let codings: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    let names = codings.iter().flat_map(|value| value.split(',')).map(str::trim);
    let mut others =
        names.filter(|name| !["", "chunked", "identity"].iter().any(|own| name.eq_ignore_ascii_case(own)));
    others.next().map(str::to_owned)
}
