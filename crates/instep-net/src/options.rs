use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use super::{Credentials, HttpError, Origin, Resolve, Scope, SystemResolver, netrc};
use crate::{AccessOptions, options::Credential};

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

    /// What the operator decided, for a run that starts at a URL; a run that starts at a file names no origin.
    ///
    /// # Errors
    /// When an option cannot be used.
    pub fn for_source(url: &str, access: &AccessOptions) -> Result<Self, HttpError> {
        let unusable = |what: &str, text: &str, why: &dyn fmt::Display| HttpError::Option {
            what: format!("The {what} {text:?} cannot be used: {why}"),
        };
        let own = if url.starts_with("file:") {
            None
        } else {
            Some(Origin::parse(url).map_err(|reason| unusable("URL", url, &reason))?)
        };
        let origin = |text: &String| Origin::parse(text).map_err(|reason| unusable("origin", text, &reason));
        let mut scope = Scope { strict: access.strict_origin, ..Scope::default() };
        scope.named.extend(own.clone());
        scope.allowed = access.allow_origins.iter().map(origin).collect::<Result<_, _>>()?;

        let mut credentials = Credentials::default();
        if let Some(text) = &access.netrc {
            for origin in own.iter().chain(&scope.allowed) {
                if let Some((user, password)) = netrc(text.reveal(), origin.host()) {
                    credentials.basic(origin.clone(), &user, &password)?;
                }
            }
        }
        for credential in &access.credentials {
            let (Credential::Bearer { origin: of, .. }
            | Credential::Basic { origin: of, .. }
            | Credential::Header { origin: of, .. }) = credential;
            let Some(to) = of.as_ref().map(origin).transpose()?.or_else(|| own.clone()) else { continue };
            match credential {
                Credential::Bearer { token, .. } => credentials.bearer(to, token.reveal())?,
                Credential::Basic { user, password, .. } => credentials.basic(to, user, password.reveal())?,
                Credential::Header { name, value, .. } => credentials.header(to, name, value.reveal())?,
            }
        }
        Ok(Self {
            credentials,
            timeout: access.timeout,
            retries: access.retries,
            transfers: access.transfers,
            per_host: access.per_host,
            rate: access.rate,
            bwlimit: access.bwlimit,
            proxy: access.proxy.clone(),
            ca_file: access.ca_file.clone(),
            user_agent: access.user_agent.clone(),
            ..Self::new(scope)
        })
    }

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
            user_agent: AccessOptions::default().user_agent,
            resolver: Arc::new(SystemResolver),
        }
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions").field("scope", &self.scope).finish_non_exhaustive()
    }
}
