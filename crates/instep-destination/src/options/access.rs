//! Options of the network, as an operator gives them.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use instep_net::{Client, Credentials, ExchangeObserver, HttpError, HttpOptions, Origin, Scope, netrc};

/// The options of the network: scope, limits, timeouts, credentials.
#[derive(Clone)]
#[non_exhaustive]
pub struct AccessOptions {
    /// The number of transfers at a time in all.
    pub transfers: usize,
    /// The number of parallel transfers to one host. Over HTTP/2, whose requests share one connection, it grows up to
    /// `transfers`, as long as throughput grows and the host does not slow down.
    pub per_host: usize,
    /// The number of requests a second to one host; `None` or 0 for no limit.
    pub rate: Option<f64>,
    /// The number of bytes a second of all transfers together; `None` or 0 for no limit.
    pub bwlimit: Option<u64>,
    /// The number of attempts that follow a failed first one.
    pub retries: u32,
    /// The timeout for connecting, for headers, and for each window of a body with less than 1 KiB a second.
    pub timeout: Duration,
    /// `true` if a document may lead only to its exact origin, and not to sub-domains of its host.
    pub strict_origin: bool,
    /// Further origins that documents may lead to: `https://mirror.example.org:8443`.
    pub allow_origins: Vec<String>,
    /// The credentials, each of which only its own origin gets.
    pub credentials: Vec<Credential>,
    /// The text of a `netrc` file: logins for the origin of the operator's URL and for the allowed ones, by host. Other
    /// credentials replace them.
    pub netrc: Option<Secret>,
    /// Certificates to trust in addition to the system's, as a PEM file.
    pub ca_file: Option<PathBuf>,
    /// The URL of the proxy; `None` for no proxy. The environment is not consulted.
    pub proxy: Option<String>,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// A client whose connections and limits are shared by many runs. Its own transfers, rate, bandwidth, proxy,
    /// certificates and user agent then replace those here.
    pub shared: Option<Client>,
}

impl Default for AccessOptions {
    fn default() -> Self {
        Self {
            transfers: 64,
            per_host: 8,
            rate: None,
            bwlimit: None,
            retries: 5,
            timeout: Duration::from_secs(30),
            strict_origin: false,
            allow_origins: Vec::new(),
            credentials: Vec::new(),
            netrc: None,
            ca_file: None,
            proxy: None,
            user_agent: HttpOptions::USER_AGENT.to_owned(),
            shared: None,
        }
    }
}

impl AccessOptions {
    /// Returns the options of a client for a run that starts at a URL. A run that starts at a file names no origin.
    ///
    /// # Errors
    /// If an option cannot be used.
    pub fn http_options(&self, url: &str) -> Result<HttpOptions, HttpError> {
        let own = if url.starts_with("file:") { None } else { Some(origin("URL", url)?) };
        let mut scope = Scope::default();
        scope.strict = self.strict_origin;
        scope.named.extend(own.clone());
        let allowed = self.allow_origins.iter().map(|text| origin("origin", text));
        scope.allowed = allowed.collect::<Result<_, _>>()?;

        let credentials = self.credentials(own.as_ref(), &scope)?;
        let mut options = HttpOptions::new(scope);
        options.credentials = credentials;
        options.timeout = self.timeout;
        options.retries = self.retries;
        options.transfers = self.transfers;
        options.per_host = self.per_host;
        options.streams = self.transfers;
        options.rate = self.rate;
        options.bwlimit = self.bwlimit;
        options.proxy.clone_from(&self.proxy);
        options.ca_file.clone_from(&self.ca_file);
        options.user_agent.clone_from(&self.user_agent);
        Ok(options)
    }

    /// Returns the part of the options that decides where documents may lead, in a form that depends on nothing else.
    pub(crate) fn scope_text(&self) -> String {
        let mut origins = self.allow_origins.clone();
        origins.sort();
        origins.insert(0, if self.strict_origin { "strict" } else { "usual" }.to_owned());
        origins.join(" ")
    }

    /// Returns the client of a run that starts at a URL: a part of the shared one if there is one.
    ///
    /// # Errors
    /// If an option cannot be used.
    pub fn client(&self, url: &str) -> Result<Client, HttpError> {
        self.observed_client(url, None)
    }

    /// Returns the client of a run that passes its exchanges to an observer.
    pub(crate) fn observed_client(
        &self,
        url: &str,
        observer: Option<Arc<dyn ExchangeObserver>>,
    ) -> Result<Client, HttpError> {
        let mut options = self.http_options(url)?;
        options.observer = observer;
        self.shared
            .as_ref()
            .map_or_else(|| Client::new(options.clone()), |shared| Ok(shared.within(options.clone())))
    }

    /// Returns the credentials of each origin. Logins of the netrc file come first, so that credentials that were given
    /// for this run replace them.
    fn credentials(&self, own: Option<&Origin>, scope: &Scope) -> Result<Credentials, HttpError> {
        let mut credentials = Credentials::default();
        if let Some(text) = &self.netrc {
            for origin in own.into_iter().chain(&scope.allowed) {
                if let Some((user, password)) = netrc(text.reveal(), origin.host()) {
                    credentials.basic(origin.clone(), &user, &password)?;
                }
            }
        }
        for credential in &self.credentials {
            let (Credential::Bearer { origin: of, .. }
            | Credential::Basic { origin: of, .. }
            | Credential::Header { origin: of, .. }) = credential;
            let of = of.as_ref().map(|text| origin("origin", text)).transpose()?;
            let Some(to) = of.or_else(|| own.cloned()) else { continue };
            match credential {
                Credential::Bearer { token, .. } => credentials.bearer(to, token.reveal())?,
                Credential::Basic { user, password, .. } => credentials.basic(to, user, password.reveal())?,
                Credential::Header { name, value, .. } => credentials.header(to, name, value.reveal())?,
            }
        }
        Ok(credentials)
    }
}

/// Leaves out the proxy, whose URL may contain a password.
impl fmt::Debug for AccessOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessOptions")
            .field("transfers", &self.transfers)
            .field("per_host", &self.per_host)
            .field("rate", &self.rate)
            .field("bwlimit", &self.bwlimit)
            .field("retries", &self.retries)
            .field("timeout", &self.timeout)
            .field("strict_origin", &self.strict_origin)
            .field("allow_origins", &self.allow_origins)
            .field("credentials", &self.credentials)
            .field("ca_file", &self.ca_file)
            .field("user_agent", &self.user_agent)
            .finish_non_exhaustive()
    }
}

fn origin(what: &str, text: &str) -> Result<Origin, HttpError> {
    Origin::parse(text)
        .map_err(|reason| HttpError::Option { what: format!("The {what} {text:?} cannot be used: {reason}") })
}

/// A header that one origin gets with each request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credential {
    /// A token, sent as `Authorization: Bearer`.
    Bearer {
        /// The origin that gets it; `None` for that of the operator's URL.
        origin: Option<String>,
        /// The token.
        token: Secret,
    },
    /// A user and a password, sent as `Authorization: Basic`.
    Basic {
        /// The origin that gets it; `None` for that of the operator's URL.
        origin: Option<String>,
        /// The user.
        user: String,
        /// The password.
        password: Secret,
    },
    /// Any header, such as the API key of a service.
    Header {
        /// The origin that gets it; `None` for that of the operator's URL.
        origin: Option<String>,
        /// Its name.
        name: String,
        /// Its value.
        value: Secret,
    },
}

/// A text that is shown in no log and no message.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for the one request it belongs to.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AuditOptions, CopyLocation, SyncOptions};

    #[test]
    fn a_secret_is_not_shown() {
        let credential = Credential::Bearer { origin: None, token: Secret::new("hunter2") };
        assert!(!format!("{credential:?}").contains("hunter2"));
    }

    #[test]
    fn o910_the_password_of_a_proxy_or_a_database_is_not_shown() {
        let database = "postgres://copies:hunter2@db.example.org/copies";
        let mut options = SyncOptions::new("https://example.org/", "copy");
        options.state = Some(database.to_owned());
        options.access.proxy = Some("http://me:hunter2@proxy.example.org:3128".to_owned());
        let place = CopyLocation::in_folder("copy").with_state(database);
        for shown in [format!("{options:?}"), format!("{:?}", options.access), format!("{place:?}")] {
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn o975_a_login_in_the_url_of_a_source_is_refused_and_not_shown() {
        let url = "https://me:hunter2@example.org/a@b?c=@d";
        let (sync, audit) = (SyncOptions::new(url, "copy"), AuditOptions::new(Some(url.to_owned()), "copy"));
        let refused = sync.check().unwrap_err().to_string();
        for shown in [format!("{sync:?}"), format!("{audit:?}"), refused] {
            assert!(shown.contains("https://example.org/a@b?c=@d") && !shown.contains("hunter2"), "{shown}");
        }
        SyncOptions::new("https://example.org/a@b?c=@d", "copy").check().unwrap();
    }
}
