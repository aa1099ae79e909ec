use std::fmt;

use super::Refusal;

/// Scheme, host and port: what a credential belongs to, and what a scope is made of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    secure: bool,
    host: String,
    port: u16,
}

impl Origin {
    /// The origin of an `http` or `https` URI; user information in it counts for nothing.
    ///
    /// # Errors
    /// When it is of another scheme or has no host (D26).
    pub fn parse(uri: &str) -> Result<Self, Refusal> {
        Self::of(&parse(uri)?)
    }

    pub(crate) fn of(uri: &http::Uri) -> Result<Self, Refusal> {
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            scheme => return Err(Refusal::Scheme { scheme: scheme.unwrap_or_default().to_owned() }),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or(Refusal::NoHost)?;
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        Ok(Self { secure, host, port })
    }

    /// Whether a URI begins with this origin as it is written here. No stands for: look closer.
    pub(crate) fn begins(&self, uri: &str) -> bool {
        let (scheme, usual) = if self.secure { ("https://", 443) } else { ("http://", 80) };
        let after = uri.strip_prefix(scheme).and_then(|rest| rest.strip_prefix(self.host.as_str()));
        let (port, rest) = match after.map(|after| (after.strip_prefix(':'), after)) {
            Some((Some(port), _)) => port.split_at(port.find('/').unwrap_or(port.len())),
            Some((None, after)) => ("", after),
            None => return false,
        };
        rest.starts_with('/')
            && (if port.is_empty() { self.port == usual } else { port.parse() == Ok(self.port) })
    }

    /// Whether it is `https`.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// The host in lower case; an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, whether written or not.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether what this origin says about the other one counts: the same host or a sub-domain, the same port, the same scheme
    /// or the step from `http` to `https`.
    pub(crate) fn speaks_for(&self, other: &Self) -> bool {
        let host = other.host == self.host
            || other
                .host
                .strip_suffix(&self.host)
                .is_some_and(|head| head.ends_with('.') && !self.is_address());
        let upgrade = !self.secure && other.secure;
        let port = self.port == other.port || (upgrade && self.port == 80 && other.port == 443);
        host && port && (self.secure == other.secure || upgrade)
    }

    fn is_address(&self) -> bool {
        self.host.starts_with('[') || self.host.parse::<std::net::Ipv4Addr>().is_ok()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { secure, host, port } = self;
        let (scheme, usual) = if *secure { ("https", 443) } else { ("http", 80) };
        if *port == usual { write!(f, "{scheme}://{host}") } else { write!(f, "{scheme}://{host}:{port}") }
    }
}

/// The text as it goes on the wire; a fragment is left out.
pub(crate) fn parse(uri: &str) -> Result<http::Uri, Refusal> {
    let text = uri.split('#').next().unwrap_or_default();
    match text.split_once(':') {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") => {
            text.parse()
                .map_err(|error: http::uri::InvalidUri| Refusal::Unusable { reason: error.to_string() })
        }
        Some((scheme, _)) => Err(Refusal::Scheme { scheme: scheme.to_owned() }),
        None => Err(Refusal::NoHost),
    }
}
