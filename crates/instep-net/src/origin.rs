//! Scheme, host and port, and how they are read from a URI.

use std::{
    borrow::Cow,
    fmt,
    net::{Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use resourcesync::{Uri, UriError};

/// Scheme, host and port: the unit of credentials and scopes (RFC 6454).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    secure: bool,
    /// Shared, because every request to a host carries its origin.
    host: Arc<str>,
    port: u16,
}

/// The reason why a URI cannot be requested over HTTP at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OriginError {
    /// The scheme is neither `http` nor `https` (D26).
    #[error("only http and https are fetched, not {scheme:?}")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// There is no host.
    #[error("a web URL needs a host, as in http://example.org/")]
    NoHost,
    /// The port number does not exist. The parser of requests would use the default port instead.
    #[error("there is no port {port}: the last one is 65535")]
    Port {
        /// The port as it is written.
        port: String,
    },
    /// It cannot be written into a request.
    #[error("it cannot be sent: {reason}")]
    Unusable {
        /// The reason.
        reason: String,
    },
}

impl Origin {
    /// Returns the origin of an `http` or `https` URI. User information in the URI is ignored.
    ///
    /// # Errors
    /// If the URI has another scheme, no host (D26), or a port that does not exist.
    pub fn parse(uri: &str) -> Result<Self, OriginError> {
        Self::of(&parse(uri)?)
    }

    pub(crate) fn of(uri: &http::Uri) -> Result<Self, OriginError> {
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            scheme => return Err(OriginError::Scheme { scheme: scheme.unwrap_or_default().to_owned() }),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or(OriginError::NoHost)?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let place = authority.rsplit('@').next().unwrap_or_default();
        if let Some(port) = place.strip_prefix(host).and_then(|rest| rest.strip_prefix(':'))
            && !port.is_empty()
            && port.parse::<u16>().is_err()
        {
            return Err(OriginError::Port { port: port.to_owned() });
        }
        let host = usual_host(host).into();
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        Ok(Self { secure, host, port })
    }

    /// Returns `true` if the text of a URI begins with this origin. `false` does not mean that the URI has another
    /// origin: it may be spelled differently.
    pub fn begins(&self, uri: &str) -> bool {
        let (scheme, usual) = if self.secure { ("https://", 443) } else { ("http://", 80) };
        let after = uri.strip_prefix(scheme).and_then(|rest| rest.strip_prefix(&*self.host));
        let (port, rest) = match after.map(|after| (after.strip_prefix(':'), after)) {
            Some((Some(port), _)) => port.split_at(port.find('/').unwrap_or(port.len())),
            Some((None, after)) => ("", after),
            None => return false,
        };
        rest.starts_with('/')
            && (if port.is_empty() { self.port == usual } else { port.parse() == Ok(self.port) })
    }

    /// Returns `true` if the scheme is `https`.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Returns the host in lower case; an IPv6 address is in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port; that of the scheme if the URI names none.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns `true` if a document of this origin may lead to the other one: the same host or a sub-domain, on the
    /// same port, with the same scheme or the step from `http` to `https`.
    pub(crate) fn speaks_for(&self, other: &Self) -> bool {
        let is_sub_domain = || {
            let head = other.host.strip_suffix(&*self.host);
            head.is_some_and(|head| head.ends_with('.') && !self.is_address())
        };
        let upgrade = !self.secure && other.secure;
        let port = self.port == other.port || (upgrade && self.port == 80 && other.port == 443);
        port && (self.secure == other.secure || upgrade) && (other.host == self.host || is_sub_domain())
    }

    fn is_address(&self) -> bool {
        self.host.starts_with('[') || self.host.parse::<Ipv4Addr>().is_ok()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { secure, host, port } = self;
        let (scheme, usual) = if *secure { ("https", 443) } else { ("http", 80) };
        if *port == usual { write!(f, "{scheme}://{host}") } else { write!(f, "{scheme}://{host}:{port}") }
    }
}

/// Returns the spelling of a host that is compared: in lower case, without the final dot, and an IPv6 address, which has
/// many spellings, as RFC 5952 writes it.
pub(crate) fn usual_host(host: &str) -> Cow<'_, str> {
    let host = host.trim_end_matches('.');
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match address.and_then(|address| address.parse::<Ipv6Addr>().ok()) {
        Some(address) => format!("[{address}]").into(),
        None if host.bytes().any(|byte| byte.is_ascii_uppercase()) => host.to_ascii_lowercase().into(),
        None => host.into(),
    }
}

/// Returns a URI as it is sent in a request: without its fragment and its user information, with a host that the domain
/// name system knows, otherwise as it is written.
pub(crate) fn parse(uri: &str) -> Result<http::Uri, OriginError> {
    let sent = with_ascii_host(without_user(uri.split('#').next().unwrap_or_default()));
    let text = &*sent;
    match text.split_once(':') {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") => {
            match text.parse::<http::Uri>() {
                Ok(uri) if uri.scheme().is_some() => Ok(uri),
                _ if Uri::parse(text) == Err(UriError::NoHost) => Err(OriginError::NoHost),
                Ok(uri) => Ok(uri),
                Err(error) => Err(OriginError::Unusable { reason: error.to_string() }),
            }
        }
        Some((scheme, _)) => Err(OriginError::Scheme { scheme: scheme.to_owned() }),
        None => Err(OriginError::NoHost),
    }
}

/// Returns a URI without the user information before its host, which no request may have (RFC 9110 §4.2.4): servers of
/// HTTP/2 may take its first part for the host, and a proxy would get the password.
fn without_user(text: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = text.split_once("://") else { return text.into() };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    match authority.rfind('@') {
        Some(end) => format!("{scheme}://{}", &rest[end + 1..]).into(),
        None => text.into(),
    }
}

/// Returns a URI whose host has letters outside of ASCII with the host in its ASCII form: `http://b%C3%BCcher.example/` is
/// requested at `xn--bcher-kva.example`. A URI percent-encodes such letters (RFC 3986 §3.2.2), a person writes them as they
/// are. Any other URI stays as it is.
fn with_ascii_host(text: Cow<'_, str>) -> Cow<'_, str> {
    let Some((scheme, rest)) = text.split_once("://") else { return text };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
    if host.is_ascii() && !host.contains('%') {
        return text;
    }
    match url::Host::parse(host) {
        Ok(url::Host::Domain(ascii)) => format!("{scheme}://{ascii}{port}{path}").into(),
        // An address has no letters to encode.
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{Origin, OriginError, parse};

    #[test]
    fn o853_a_request_has_no_user_information() {
        for (uri, sent) in [
            ("https://user:a%40b@h:8443/p?q=a@b#f", "https://h:8443/p?q=a@b"),
            ("http://user@[::1]?a://b@c", "http://[::1]/?a://b@c"),
            ("http://h/a@b", "http://h/a@b"),
            ("http://h/?u=http://a@b/", "http://h/?u=http://a@b/"),
        ] {
            assert_eq!(parse(uri).map(|uri| uri.to_string()).as_deref(), Ok(sent), "{uri}");
        }
        assert_eq!(Origin::parse("http://a.example@b.example/").unwrap().host(), "b.example");
    }

    #[test]
    fn o984_a_host_outside_of_ascii_is_requested_by_its_name_in_the_domain_name_system() {
        for (uri, sent) in [
            ("http://b%C3%BCcher.example:8080/%C3%BC", "http://xn--bcher-kva.example:8080/%C3%BC"),
            ("https://user@B%c3%9cCHER.example", "https://xn--bcher-kva.example/"),
            ("http://plain.example/%C3%BC", "http://plain.example/%C3%BC"),
        ] {
            assert_eq!(parse(uri).map(|uri| uri.to_string()).as_deref(), Ok(sent), "{uri}");
        }
        let encoded = Origin::parse("http://b%C3%BCcher.example/a").unwrap();
        assert_eq!(encoded, Origin::parse("http://xn--bcher-kva.example/b").unwrap());
        for wrong in ["http://%31%32%37.0.0.1/", "http://a%2Fb/"] {
            assert!(matches!(Origin::parse(wrong), Err(OriginError::Unusable { .. })), "{wrong}");
        }
    }

    #[test]
    fn o424_an_ipv6_address_is_one_host_in_each_of_its_spellings() {
        let usual = Origin::parse("http://[::1]:8080/a").unwrap();
        for spelling in ["[0:0::1]", "[0:0:0:0:0:0:0:1]", "[::0001]"] {
            assert_eq!(Origin::parse(&format!("http://{spelling}:8080/b")).unwrap(), usual, "{spelling}");
        }
        assert_eq!(Origin::parse("http://[FD00::A]/").unwrap().host(), "[fd00::a]");
        assert_ne!(Origin::parse("http://[::2]:8080/").unwrap(), usual);
    }

    #[test]
    fn o226_a_port_that_does_not_exist_has_no_origin() {
        for uri in ["http://h:65536/", "https://h:99999", "http://user@[::1]:100000/a"] {
            assert!(matches!(Origin::parse(uri), Err(OriginError::Port { .. })), "{uri}");
        }
        for (uri, port) in [("http://h:65535/", 65_535), ("http://h:/", 80), ("https://[::1]/", 443)] {
            assert_eq!(Origin::parse(uri).map(|origin| origin.port()), Ok(port), "{uri}");
        }
    }
}
