//! The options of a client.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use crate::{
    connection::HEADER_BYTES,
    credentials::Credentials,
    gate::RequestGate,
    observer::ExchangeObserver,
    resolver::{Resolve, SystemResolver},
    retry::MAX_BACKOFF,
    scope::Scope,
    shared_seats::SharedSeats,
};

/// The options of a [`Client`](crate::Client): scope, credentials, limits, timeouts.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The URIs that may be requested and the addresses that may be connected to.
    pub scope: Scope,
    /// The headers that each origin gets.
    pub credentials: Credentials,
    /// The timeout for connecting, for headers, and for each window of a body with less than 1 KiB a second.
    pub timeout: Duration,
    /// The number of attempts after the first one.
    pub retries: u32,
    /// The pause before the first retry. It doubles with each further one, up to [`Self::MAX_BACKOFF`].
    pub backoff: Duration,
    /// The longest pause for which a `Retry-After` is obeyed (D29).
    pub max_retry_after: Duration,
    /// The number of redirects that are followed (D25). With 0 a redirect is a response like any other.
    pub redirects: usize,
    /// The number of transfers at a time in all.
    pub transfers: usize,
    /// The number of transfers at a time to one host.
    pub per_host: usize,
    /// The number of parallel requests to one host over an HTTP/2 connection, which costs the host less than more
    /// connections. It grows beyond `per_host` only as long as each step increases throughput, and never again after
    /// the host reported overload.
    pub streams: usize,
    /// Adapts to each host: fewer transfers while it is slow or overloaded, a pause if it requests one, and no
    /// requests for a while if it only fails. Without this only the fixed limits apply, and one bad URI of a host
    /// does not affect the others.
    pub adaptive: bool,
    /// The number of connections to one host that are kept open without a request; `None` for as many as `per_host`, so
    /// that no transfer needs a new one.
    pub idle_per_host: Option<usize>,
    /// The number of requests a second to one host; `None` or 0 for no limit.
    pub rate: Option<f64>,
    /// The number of bytes a second in all; `None` or 0 for no limit.
    pub bwlimit: Option<u64>,
    /// The URL of the proxy; `None` for no proxy. The environment is not consulted.
    pub proxy: Option<String>,
    /// Certificates to trust in addition to the system's, as a PEM file.
    pub ca_file: Option<PathBuf>,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The resolver of names.
    pub resolver: Arc<dyn Resolve>,
    /// Receives each exchange, for an archive; `None` if there is no archive.
    pub observer: Option<Arc<dyn ExchangeObserver>>,
    /// The gate that each request passes before it begins; `None` if there is none.
    pub gate: Option<RequestGate>,
    /// The seats at hosts whose limit holds for several processes together; `None` if this one is alone.
    pub seats: Option<SharedSeats>,
}

impl HttpOptions {
    /// The longest pause between two attempts, unless the server requests another one.
    pub const MAX_BACKOFF: Duration = MAX_BACKOFF;
    /// The number of redirects that are followed unless another one is chosen (D25).
    pub const REDIRECTS: usize = 5;
    /// The bytes of headers that are accepted (D28).
    pub const HEADER_BYTES: usize = HEADER_BYTES;
    /// The `User-Agent` header unless another one is chosen.
    pub const USER_AGENT: &'static str =
        concat!("instep/", env!("CARGO_PKG_VERSION"), " (+", env!("CARGO_PKG_REPOSITORY"), ")");

    /// Returns the defaults within a scope: 16 transfers, 8 per host, 5 retries, a timeout of 30 s.
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            credentials: Credentials::default(),
            timeout: Duration::from_secs(30),
            retries: 5,
            backoff: Duration::from_millis(500),
            max_retry_after: Duration::from_secs(3600),
            redirects: Self::REDIRECTS,
            transfers: 16,
            per_host: 8,
            streams: 8,
            adaptive: true,
            idle_per_host: None,
            rate: None,
            bwlimit: None,
            proxy: None,
            ca_file: None,
            user_agent: Self::USER_AGENT.to_owned(),
            resolver: Arc::new(SystemResolver),
            observer: None,
            gate: None,
            seats: None,
        }
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions").field("scope", &self.scope).finish_non_exhaustive()
    }
}
