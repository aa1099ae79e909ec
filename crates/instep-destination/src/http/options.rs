use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use super::{Credentials, Resolve, Scope, SystemResolver};

/// How the network is used, checked: what [`crate::http::Client`] is made of.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Where requests may go.
    pub scope: Scope,
    /// What is sent to which origin.
    pub credentials: Credentials,
    /// Bounds connecting, waiting for headers, and each window of a body that brings less than 1 KiB a second.
    pub timeout: Duration,
    /// Attempts after the first one.
    pub retries: u32,
    /// The pause before the first retry; it doubles with each further one, up to [`Self::MOST_BACKOFF`].
    pub backoff: Duration,
    /// The longest pause that a `Retry-After` is obeyed for (D29).
    pub most_retry_after: Duration,
    /// Transfers at a time in all.
    pub transfers: usize,
    /// Transfers at a time to one host.
    pub per_host: usize,
    /// Requests a second to one host; none is unlimited.
    pub rate: Option<f64>,
    /// Bytes a second in all; none is unlimited.
    pub bwlimit: Option<u64>,
    /// The proxy; none is used unless it is named here.
    pub proxy: Option<String>,
    /// Certificates that are trusted beside the system's, as a PEM file.
    pub ca_file: Option<PathBuf>,
    /// What the client says it is.
    pub user_agent: String,
    /// Where names become addresses.
    pub resolver: Arc<dyn Resolve>,
}

impl HttpOptions {
    /// The longest pause between two attempts that nobody asked for.
    pub const MOST_BACKOFF: Duration = Duration::from_secs(30);
    /// Redirects followed (D25).
    pub const REDIRECTS: usize = 5;
    /// Bytes of headers taken (D28).
    pub const HEADER_BYTES: usize = 64 << 10;

    /// The defaults of the program within a scope.
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            credentials: Credentials::default(),
            timeout: Duration::from_secs(30),
            retries: 5,
            backoff: Duration::from_millis(500),
            most_retry_after: Duration::from_secs(3600),
            transfers: 16,
            per_host: 8,
            rate: None,
            bwlimit: None,
            proxy: None,
            ca_file: None,
            user_agent: concat!(
                "instep/",
                env!("CARGO_PKG_VERSION"),
                " (+",
                env!("CARGO_PKG_REPOSITORY"),
                ")"
            )
            .to_owned(),
            resolver: Arc::new(SystemResolver),
        }
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions").field("scope", &self.scope).finish_non_exhaustive()
    }
}
