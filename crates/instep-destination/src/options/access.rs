use std::{fmt, path::PathBuf, time::Duration};

/// How the network is used: scope, politeness, patience, credentials.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AccessOptions {
    /// Transfers at a time in all.
    pub transfers: usize,
    /// Transfers at a time to one host.
    pub per_host: usize,
    /// Requests a second to one host; none is unlimited.
    pub rate: Option<f64>,
    /// Bytes a second in all; none is unlimited.
    pub bwlimit: Option<u64>,
    /// Attempts after the first one.
    pub retries: u32,
    /// Bounds connecting, waiting for headers, and each window of a body that brings less than 1 KiB a second.
    pub timeout: Duration,
    /// Whether a document speaks for its exact origin only.
    pub strict_origin: bool,
    /// Further origins that documents may speak for: `https://mirror.example.org:8443`.
    pub allow_origins: Vec<String>,
    /// What is sent to which origin, and to no other.
    pub credentials: Vec<Credential>,
    /// The text of a `netrc` file: logins for the origin of the operator's URL and the allowed ones, by host. Other credentials win.
    pub netrc: Option<Secret>,
    /// Certificates that are trusted beside the system's, as a PEM file.
    pub ca_file: Option<PathBuf>,
    /// The proxy; none is used unless it is named here.
    pub proxy: Option<String>,
    /// What the client says it is.
    pub user_agent: String,
}

impl Default for AccessOptions {
    fn default() -> Self {
        Self {
            transfers: 16,
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
            user_agent: concat!(
                "instep/",
                env!("CARGO_PKG_VERSION"),
                " (+",
                env!("CARGO_PKG_REPOSITORY"),
                ")"
            )
            .to_owned(),
        }
    }
}

/// What is sent to one origin with each request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credential {
    /// `Authorization: Bearer`.
    Bearer {
        /// Scheme, host and port that it is sent to; none means the origin of the operator's URL.
        origin: Option<String>,
        /// The token.
        token: Secret,
    },
    /// `Authorization: Basic`.
    Basic {
        /// Scheme, host and port that it is sent to; none means the origin of the operator's URL.
        origin: Option<String>,
        /// The user.
        user: String,
        /// The password.
        password: Secret,
    },
    /// Any header.
    Header {
        /// Scheme, host and port that it is sent to; none means the origin of the operator's URL.
        origin: Option<String>,
        /// Its name.
        name: String,
        /// Its value.
        value: Secret,
    },
}

/// A text that no log and no message shows.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the one request it belongs to.
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

    #[test]
    fn a_secret_is_not_shown() {
        let credential = Credential::Bearer { origin: None, token: Secret::new("hunter2") };
        assert!(!format!("{credential:?}").contains("hunter2"));
    }
}
