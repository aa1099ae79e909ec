//! The client: sends requests, follows redirects, keeps to the scope.

mod exchange;

use std::{
    fmt,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use http::{HeaderMap, HeaderValue, StatusCode, header};
use resourcesync::Uri;
use tokio::time::timeout;

use crate::{
    attempts::Attempts,
    connector::Connector,
    error::{HttpError, Refusal, RequestPhase},
    flight::{Flights, InFlight},
    hosts::Hosts,
    options::HttpOptions,
    origin::{self, Origin},
    rate::Rate,
    request::Request,
    response::Response,
    stream::Stream,
    traffic::Traffic,
    unconnected::connect_failure,
};

/// Sends requests within a scope, with retries and limits per host. Clones share connections and limits.
///
/// # Contract
/// No request leaves the scope, redirects included. No connection goes to an address that is not public unless the
/// operator named it. Credentials are sent only to their own origin.
///
/// Dropping a future of this client cancels the request, also while it waits for a host that requested a pause.
#[derive(Clone)]
pub struct Client(Arc<SharedClient>);

struct SharedClient {
    options: HttpOptions,
    connector: Connector,
    user_agent: HeaderValue,
    hosts: Arc<Hosts>,
    flights: Arc<Flights>,
    bandwidth: Option<Arc<Rate>>,
    requests: AtomicU64,
    /// The figures of the hosts are those of the client that this one was made from.
    is_part: bool,
}

impl Client {
    /// Returns a client without any connection yet.
    ///
    /// # Errors
    /// If an option cannot be used: the proxy, the user agent.
    pub fn new(options: HttpOptions) -> Result<Self, HttpError> {
        let connector = Connector::new(&options)?;
        let user_agent = HeaderValue::from_str(&options.user_agent)
            .map_err(|_| HttpError::Option { what: "The user agent cannot be sent".to_owned() })?;
        let hosts = Hosts::new(&options);
        let bwlimit = options.bwlimit.filter(|limit| *limit > 0);
        let bandwidth = bwlimit.map(|limit| Arc::new(Rate::new(limit as f64)));
        let requests = AtomicU64::new(0);
        let flights = Arc::default();
        Ok(Self(Arc::new(SharedClient {
            options,
            connector,
            user_agent,
            hosts,
            flights,
            bandwidth,
            requests,
            is_part: false,
        })))
    }

    /// Returns a client for one of many pieces of work. Scope, credentials, timeout and attempts are those of
    /// `options`, and it counts its own requests. Connections and every limit are shared with this client, so a host
    /// gets no more requests when many pieces of work lead to it. Proxy, certificates, user agent and open networks
    /// are also those of this client.
    ///
    /// Figures of hosts and pauses are available only from this client.
    #[must_use]
    pub fn within(&self, options: HttpOptions) -> Self {
        let shared = &*self.0;
        let mut options = options;
        options.scope.networks.clone_from(&shared.options.scope.networks);
        Self(Arc::new(SharedClient {
            connector: shared.connector.within(&options),
            options,
            user_agent: shared.user_agent.clone(),
            hosts: Arc::clone(&shared.hosts),
            flights: Arc::default(),
            bandwidth: shared.bandwidth.clone(),
            requests: AtomicU64::new(0),
            is_part: true,
        }))
    }

    /// Returns the options that it was made with.
    pub fn options(&self) -> &HttpOptions {
        &self.0.options
    }

    /// Returns the number of transfers from an origin that may be under way at a time, and may wait for it.
    pub fn window(&self, origin: &Origin) -> usize {
        self.0.hosts.window(origin)
    }

    /// Returns the number of requests sent so far.
    pub fn requests(&self) -> u64 {
        self.0.requests.load(Relaxed)
    }

    /// Returns the attempts that one piece of work has.
    pub fn attempts(&self) -> Attempts {
        Attempts::new(Arc::clone(&self.0.hosts), self.0.options.retries, self.0.options.backoff)
    }

    /// Returns the requests whose answers are arriving.
    pub fn under_way(&self) -> Vec<InFlight> {
        self.0.flights.under_way()
    }

    /// Returns the hosts that are paused, each with the remaining time.
    pub fn waiting(&self) -> Vec<(String, Duration)> {
        if self.0.is_part { Vec::new() } else { self.0.hosts.waiting() }
    }

    /// Uses no more than a part of the bandwidth limit from now on: other processes have the rest.
    pub fn share_bandwidth(&self, part: f64) {
        if let Some(bandwidth) = &self.0.bandwidth {
            bandwidth.set_part(part);
        }
    }

    /// Leaves a pause between any two requests to an origin from now on, unless the options set a rate.
    pub fn keep_pause(&self, origin: &Origin, pause: Duration) {
        if !pause.is_zero() {
            self.0.hosts.get(origin).keep_pause(pause);
        }
    }

    /// Returns the figures of each host since they were taken last.
    pub fn take_traffic(&self) -> Vec<(String, Traffic)> {
        if self.0.is_part { Vec::new() } else { self.0.hosts.take_traffic() }
    }

    /// Sends a request, again after transient failures, and returns the first answer that another attempt would not
    /// improve.
    ///
    /// # Errors
    /// If the request is refused, or fails for good. A status that is not transient is not an error here.
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
    /// If the request is refused or fails, or if the status is transient.
    pub async fn send_once(&self, request: &Request) -> Result<Response, HttpError> {
        let scope = &self.0.options.scope;
        let mut moved = None;
        let (mut target, mut at) = locate(&request.uri)?;
        let own = at.clone();
        if let Some(speaker) = &request.speaker {
            scope.check_origin(speaker, &at).map_err(|reason| refused(&request.uri, reason))?;
        }
        // Without a document that names it, the request's own origin defines the scope of redirects.
        let speaker = request.speaker.as_ref().unwrap_or(&own);
        let most = self.0.options.redirects;
        for _ in 0..=most {
            let uri = moved.as_ref().unwrap_or(&request.uri);
            let open = self.open_headers(request, &own, &at).map_err(|reason| refused(uri, reason))?;
            let shown = self.0.options.observer.is_some().then(|| open.clone());
            let headers = self.with_credentials(open, &at);
            let response = self.exchange(request, (headers, shown), uri, target, &at).await?;
            if most == 0 || !is_followed(request, response.status) {
                return Ok(response);
            }
            let location = response.headers.get(header::LOCATION);
            let location = location.and_then(|to| uri.resolve_as_written(to.as_bytes()).ok());
            let next = location.ok_or_else(|| refused(uri, Refusal::NoLocation))?;
            let (next_target, next_at) = locate(&next)?;
            if at.is_secure() && !next_at.is_secure() {
                return Err(refused(&next, Refusal::Downgrade));
            }
            scope.check_origin(speaker, &next_at).map_err(|reason| refused(&next, reason))?;
            (moved, target, at) = (Some(next), next_target, next_at);
        }
        Err(refused(&request.uri, Refusal::Redirects { most }))
    }

    /// Opens a connection to the origin of a URI for a protocol that begins as a request of HTTP/1.1, such as WebSocket.
    /// The scope holds for it as well.
    ///
    /// # Errors
    /// If the scope forbids it, or no connection can be opened.
    pub async fn connect(&self, uri: &Uri, speaker: &Origin) -> Result<Stream, HttpError> {
        let (target, at) = locate(uri)?;
        self.0.options.scope.check_origin(speaker, &at).map_err(|reason| refused(uri, reason))?;
        let limit = self.0.options.timeout;
        match timeout(limit, self.0.connector.connect_to_upgrade(target)).await {
            Ok(connected) => connected.map_err(|error| connect_failure(uri, error)),
            Err(_) => Err(HttpError::Timeout { uri: uri.to_string(), phase: RequestPhase::Connect, limit }),
        }
    }

    /// Returns the headers by which the origin of a URI knows this client: its name, and the credentials for that origin.
    /// They are for a protocol over [`Client::connect`]; requests have them already.
    ///
    /// # Errors
    /// If the URI has no origin.
    pub fn identity(&self, uri: &Uri) -> Result<HeaderMap, HttpError> {
        let (_, at) = locate(uri)?;
        let mut headers = HeaderMap::from_iter([(header::USER_AGENT, self.0.user_agent.clone())]);
        self.0.options.credentials.apply(&at, &mut headers);
        Ok(headers)
    }

    /// Returns the addresses that a connection to the origin of a URI may go to, without opening one.
    ///
    /// # Errors
    /// If the name has no address, or if an address is not allowed.
    pub async fn addresses(&self, uri: &Uri) -> Result<Vec<IpAddr>, HttpError> {
        let (target, _) = locate(uri)?;
        let limit = self.0.options.timeout;
        match timeout(limit, self.0.connector.addresses(&target)).await {
            Ok(found) => found.map_err(|error| connect_failure(uri, error)),
            Err(_) => Err(HttpError::Timeout { uri: uri.to_string(), phase: RequestPhase::Connect, limit }),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("hosts", &self.0.hosts).finish_non_exhaustive()
    }
}

fn refused(uri: &Uri, reason: Refusal) -> HttpError {
    HttpError::Refused { uri: uri.to_string(), reason }
}

/// Returns a URI as it is requested, and its origin.
fn locate(uri: &Uri) -> Result<(http::Uri, Origin), HttpError> {
    let target = origin::parse(uri.as_str()).map_err(|error| refused(uri, error.into()))?;
    let at = Origin::of(&target).map_err(|error| refused(uri, error.into()))?;
    Ok((target, at))
}

/// Returns `true` for a redirect that keeps the method. The others turn a POST into a GET, which is a different
/// request.
fn is_followed(request: &Request, status: StatusCode) -> bool {
    match status.as_u16() {
        307 | 308 => true,
        301..=303 => request.content.is_none(),
        _ => false,
    }
}
