use std::{
    error::Error as StdError,
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use resourcesync::Uri;
use tokio::time::{Instant, sleep, timeout};

use super::{
    Body, HttpError, HttpOptions, Origin, Phase, Refusal, Request, Response, Traffic,
    connect::{BoxError, Connector},
    connection::{Carried, Connection, Message},
    error::is_transient,
    hosts::{Host, Hosts},
    origin,
    pace::Pace,
    retry,
    stream::Stream,
};

/// Sends requests: within the scope, with patience, without rushing anybody. Clones share connections and limits.
///
/// # Contract
/// No request leaves the scope, redirects included; no connection goes to a private address that the operator did not name; no credential
/// goes to another origin than its own.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    options: HttpOptions,
    connector: Connector,
    user_agent: HeaderValue,
    hosts: Hosts,
    bandwidth: Option<Arc<Pace>>,
    requests: AtomicU64,
}

impl Client {
    /// A client without any connection yet.
    ///
    /// # Errors
    /// When an option cannot be used: the proxy, the user agent.
    pub fn new(options: HttpOptions) -> Result<Self, HttpError> {
        let connector = Connector::new(&options)?;
        let user_agent = HeaderValue::from_str(&options.user_agent)
            .map_err(|_| HttpError::Option { what: "The user agent cannot be sent".to_owned() })?;
        let hosts = Hosts::new(&options);
        let bandwidth = options.bwlimit.map(|limit| Arc::new(Pace::new(limit as f64)));
        Ok(Self(Arc::new(Shared {
            options,
            connector,
            user_agent,
            hosts,
            bandwidth,
            requests: AtomicU64::new(0),
        })))
    }

    /// The options it was made with.
    pub fn options(&self) -> &HttpOptions {
        &self.0.options
    }

    /// Requests sent so far.
    pub fn requests(&self) -> u64 {
        self.0.requests.load(Relaxed)
    }

    /// The attempts that one piece of work has.
    pub fn attempts(&self) -> Attempts {
        let client = self.clone();
        Attempts { client, left: self.0.options.retries, made: 0, backoff: self.0.options.backoff }
    }

    /// What each host was asked for since this was called last.
    pub(crate) fn take_traffic(&self) -> Vec<(String, Traffic)> {
        self.0.hosts.take_traffic()
    }

    /// Sends a request until an answer comes that another attempt would not better; its status may be any that is not transient.
    ///
    /// # Errors
    /// When the request is refused, or fails for good.
    pub async fn send(&self, request: &Request) -> Result<Response, HttpError> {
        let mut attempts = self.attempts();
        loop {
            match self.send_once(request).await {
                Ok(response) => return Ok(response),
                Err(error) => attempts.again(error).await?,
            }
        }
    }

    /// Sends a request once, following redirects.
    ///
    /// # Errors
    /// When the request is refused, fails, or the status is transient.
    pub async fn send_once(&self, request: &Request) -> Result<Response, HttpError> {
        let refused = |uri: &Uri, reason| HttpError::Refused { uri: uri.as_str().to_owned(), reason };
        let scope = &self.0.options.scope;
        let mut uri = request.uri.clone();
        let (mut target, mut at) = locate(&uri).map_err(|reason| refused(&uri, reason))?;
        if let Some(speaker) = &request.speaker {
            scope.check_origin(speaker, &at).map_err(|reason| refused(&uri, reason))?;
        }
        for _ in 0..=HttpOptions::REDIRECTS {
            let response = self.exchange(request, &uri, target, &at).await?;
            if !is_redirect(response.status) || (request.content.is_some() && !keeps_method(response.status))
            {
                return Ok(response);
            }
            let location = response.header(header::LOCATION).and_then(|to| uri.resolve(to.trim()).ok());
            let next = location.ok_or_else(|| refused(&uri, Refusal::NoLocation))?;
            let (next_target, next_at) = locate(&next).map_err(|reason| refused(&next, reason))?;
            if at.is_secure() && !next_at.is_secure() {
                return Err(refused(&next, Refusal::Downgrade));
            }
            // Without a speaker, who was asked first speaks.
            let speaker = request.speaker.clone().map_or_else(|| Origin::parse(request.uri.as_str()), Ok);
            let speaker = speaker.map_err(|reason| refused(&request.uri, reason))?;
            scope.check_origin(&speaker, &next_at).map_err(|reason| refused(&next, reason))?;
            (uri, target, at) = (next, next_target, next_at);
        }
        Err(refused(&request.uri, Refusal::Redirects { most: HttpOptions::REDIRECTS }))
    }

    /// A connection to the origin of a URI, for what is no request: a channel. The scope holds for it too.
    pub(crate) async fn connect(&self, uri: &Uri, speaker: &Origin) -> Result<TokioIo<Stream>, HttpError> {
        let refused = |reason| HttpError::Refused { uri: uri.as_str().to_owned(), reason };
        let (target, at) = locate(uri).map_err(refused)?;
        self.0.options.scope.check_origin(speaker, &at).map_err(refused)?;
        let connected = timeout(self.0.options.timeout, self.0.connector.connect(target)).await;
        let source = match connected {
            Ok(Ok(stream)) => return Ok(TokioIo::new(stream)),
            Ok(Err(error)) => error,
            Err(elapsed) => elapsed.into(),
        };
        Err(HttpError::Connect { uri: uri.as_str().to_owned(), transient: true, source })
    }

    /// One request, one response.
    async fn exchange(
        &self,
        request: &Request,
        uri: &Uri,
        target: http::Uri,
        at: &Origin,
    ) -> Result<Response, HttpError> {
        let shared = &*self.0;
        let headers = self.headers(request, at).map_err(|reason| {
            let uri = uri.as_str().to_owned();
            HttpError::Refused { uri, reason }
        })?;
        let content = request.content.as_ref().map(|(content, _)| content.clone());
        let mut message = http::Request::new(Full::new(content.unwrap_or_default()));
        *message.method_mut() = if request.content.is_some() { Method::POST } else { Method::GET };
        *message.uri_mut() = target;
        *message.headers_mut() = headers;

        let host = shared.hosts.get(at);
        let permits = shared.hosts.admit(&host).await?;
        shared.requests.fetch_add(1, Relaxed);
        let asked = Instant::now();
        let answer = self.ask(&host, message, uri).await.inspect_err(|error| {
            host.note(Traffic::unanswered);
            if matches!(error, HttpError::Timeout { .. }) {
                host.timed_out();
            }
            if error.is_transient() {
                host.failed();
            }
        })?;
        let (head, carried) = answer.into_parts();
        let latency = asked.elapsed();
        host.note(|traffic| traffic.answered(head.status.as_u16(), latency));
        self.judge(&host, uri, head.status, &head.headers, latency)?;
        let body = Body::new(
            carried,
            uri.as_str().into(),
            shared.options.timeout,
            shared.bandwidth.clone(),
            permits,
        );
        Ok(Response { status: head.status, headers: head.headers, uri: uri.clone(), body })
    }

    fn headers(&self, request: &Request, at: &Origin) -> Result<HeaderMap, Refusal> {
        let mut headers = request.headers()?;
        headers.insert(header::USER_AGENT, self.0.user_agent.clone());
        if let Some(authorization) = self.0.connector.proxy_authorization().filter(|_| !at.is_secure()) {
            headers.insert(header::PROXY_AUTHORIZATION, authorization.clone());
        }
        self.0.options.credentials.apply(at, &mut headers);
        Ok(headers)
    }

    /// Two clocks, one after the other: for the connection, and for the headers on it. Where the host has closed a connection
    /// that was kept, nothing was sent, and another one is used.
    async fn ask(
        &self,
        host: &Arc<Host>,
        mut message: Message,
        uri: &Uri,
    ) -> Result<http::Response<Carried>, HttpError> {
        let limit = self.0.options.timeout;
        let slow = |phase| HttpError::Timeout { uri: uri.as_str().to_owned(), phase, limit };
        loop {
            let kept = host.open.take();
            let is_new = kept.is_none();
            let connection = match kept {
                Some(connection) => connection,
                None => timeout(limit, self.open(host, message.uri().clone()))
                    .await
                    .map_err(|_| slow(Phase::Connect))?
                    .map_err(|error| connect_failure(uri, error))?,
            };
            let sent = timeout(limit, connection.send(host, message)).await;
            match sent.map_err(|_| slow(Phase::Headers))? {
                Ok(answer) => return Ok(answer),
                Err(unanswered) => match unanswered.message {
                    Some(unsent) if !is_new => message = unsent,
                    _ => {
                        let (uri, source) = (uri.as_str().to_owned(), unanswered.error.into());
                        return Err(HttpError::Transfer { uri, source });
                    }
                },
            }
        }
    }

    async fn open(&self, host: &Host, target: http::Uri) -> Result<Connection, BoxError> {
        let connection = Connection::over(self.0.connector.connect(target).await?).await?;
        host.open.share(&connection);
        Ok(connection)
    }

    /// What the status says about the host; transient ones are errors.
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
        let most = self.0.options.most_retry_after;
        let retry_after = headers
            .get(header::RETRY_AFTER)
            .and_then(|value| retry::retry_after(value.to_str().ok()?, SystemTime::now(), most));
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            host.overloaded(retry_after);
        }
        host.failed();
        Err(HttpError::Status { uri: uri.as_str().to_owned(), status, retry_after })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("hosts", &self.0.hosts).finish_non_exhaustive()
    }
}

/// The attempts that one piece of work has left.
#[derive(Debug)]
pub struct Attempts {
    client: Client,
    left: u32,
    made: u32,
    backoff: Duration,
}

impl Attempts {
    /// With no more than so many retries.
    #[must_use]
    pub fn at_most(self, retries: u32) -> Self {
        Self { left: self.left.min(retries), ..self }
    }

    /// Waits until the next attempt is in order.
    ///
    /// # Errors
    /// The error itself, where none is left or none would help.
    pub async fn again(&mut self, error: HttpError) -> Result<(), HttpError> {
        if self.left == 0 || !error.is_transient() {
            return Err(error);
        }
        tracing::debug!(%error, left = self.left, "another attempt");
        self.left -= 1;
        if let Some(origin) = error.uri().and_then(|uri| Origin::parse(uri).ok()) {
            self.client.0.hosts.get(&origin).note(|traffic| traffic.retries += 1);
        }
        sleep(retry::backoff(self.backoff, self.made, rand::random())).await;
        self.made += 1;
        Ok(())
    }
}

fn locate(uri: &Uri) -> Result<(http::Uri, Origin), Refusal> {
    let target = origin::parse(uri.as_str())?;
    let at = Origin::of(&target)?;
    Ok((target, at))
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Whether what was posted is posted again where a redirect leads: at others it may become a GET, which asks for something else.
fn keeps_method(status: StatusCode) -> bool {
    matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT)
}

/// Why there is no connection.
fn connect_failure(uri: &Uri, source: BoxError) -> HttpError {
    let uri = uri.as_str().to_owned();
    if let Some(reason) = cause::<Refusal>(&*source) {
        return HttpError::Refused { uri, reason: reason.clone() };
    }
    let transient = cause::<rustls::Error>(&*source).is_none() && cause::<HttpError>(&*source).is_none();
    HttpError::Connect { uri, transient, source }
}

/// The first error of a kind in the chain; an `io::Error` hides the one it wraps.
fn cause<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = wrapped.map_or_else(|| error.source(), |wrapped| Some(wrapped as &(dyn StdError + 'static)));
    }
    None
}
