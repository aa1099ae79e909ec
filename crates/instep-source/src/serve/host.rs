//! The host that a request names: a name that is not the Source's own is refused if it could do harm.
//!
//! A page of any site can make its own name lead to 127.0.0.1 (DNS rebinding), and could then read a Source on
//! loopback as if it were its own. The browser names the page's host in the request, which reveals this (C8).

use std::net::IpAddr;

use axum::extract::Request;
use http::{StatusCode, Version, header, uri::Authority};

/// The hosts that requests may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AcceptedHosts {
    /// Any host.
    Any,
    /// The names and addresses of this machine, at any port: a forwarded port has another number.
    Loopback,
    /// Only this authority, in lower case.
    Only(String),
}

impl AcceptedHosts {
    /// Creates the rule of a Source: `strict` accepts the authority of its base URL only.
    pub(crate) fn new(base_url: &str, strict: bool) -> Self {
        let authority = authority_of(base_url);
        match (strict, is_loopback(authority)) {
            (true, _) => Self::Only(authority.to_ascii_lowercase()),
            (false, true) => Self::Loopback,
            (false, false) => Self::Any,
        }
    }

    /// Checks the host of a request.
    ///
    /// Errors: 400 if HTTP/1.1 names none or several (RFC 9112 §3.2, C18), 421 if it is another host.
    pub(crate) fn check(&self, request: &Request) -> Result<(), StatusCode> {
        let hosts = request.headers().get_all(header::HOST).iter().count();
        if hosts > 1 || (hosts == 0 && request.version() == Version::HTTP_11) {
            return Err(StatusCode::BAD_REQUEST);
        }
        let authority = request.uri().authority().map(Authority::as_str);
        // Only old clients, such as health checks, name none (HTTP/1.0): browsers always do.
        let names_none = hosts == 0 && authority.is_none();
        let named = authority.or_else(|| request.headers().get(header::HOST)?.to_str().ok());
        let is_accepted = match self {
            Self::Any => true,
            Self::Loopback => names_none || named.is_some_and(is_loopback),
            Self::Only(only) => named.is_some_and(|named| named.eq_ignore_ascii_case(only)),
        };
        if is_accepted { Ok(()) } else { Err(StatusCode::MISDIRECTED_REQUEST) }
    }
}

/// Returns `true` if the host of a base URL is this machine.
pub(crate) fn is_local(base_url: &str) -> bool {
    is_loopback(authority_of(base_url))
}

fn authority_of(base_url: &str) -> &str {
    base_url.split('/').nth(2).unwrap_or_default()
}

/// Returns `true` if an authority names this machine by an address, or by a name that needs no resolver (RFC 6761
/// §6.3).
fn is_loopback(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else { return false };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    let name = host.trim_end_matches('.');
    let is_address = || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback());
    name == "localhost" || name.ends_with(".localhost") || is_address()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c8_only_names_that_no_resolver_is_asked_for_are_this_machine() {
        for local in
            ["localhost", "LOCALHOST:8080", "a.localhost:1", "127.0.0.1", "127.9.9.9:80", "[::1]:8080"]
        {
            assert!(is_loopback(local), "{local}");
        }
        for foreign in [
            "",
            "x",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.0.2.1",
            "[::2]:80",
        ] {
            assert!(!is_loopback(foreign), "{foreign}");
        }
    }

    #[test]
    fn o399_a_client_of_http_1_0_that_names_no_host_is_no_page_of_another_site() {
        let check = |rule: &AcceptedHosts, version, host: Option<&[u8]>| {
            let mut request = Request::builder().uri("/").version(version);
            if let Some(host) = host {
                request = request.header(header::HOST, host);
            }
            rule.check(&request.body(axum::body::Body::empty()).unwrap()).err().map(|status| status.as_u16())
        };
        let local = AcceptedHosts::Loopback;
        assert_eq!(check(&local, Version::HTTP_10, None), None);
        assert_eq!(check(&local, Version::HTTP_11, None), Some(400));
        assert_eq!(check(&local, Version::HTTP_10, Some(b"evil.example")), Some(421));
        assert_eq!(check(&local, Version::HTTP_10, Some(b"\xff")), Some(421));
        let only = AcceptedHosts::Only("example.com".to_owned());
        assert_eq!(check(&only, Version::HTTP_10, None), Some(421));
    }

    #[test]
    fn a_source_is_strict_where_it_is_local() {
        assert_eq!(AcceptedHosts::new("http://127.0.0.1:8080/", false), AcceptedHosts::Loopback);
        assert_eq!(AcceptedHosts::new("https://example.com/a/", false), AcceptedHosts::Any);
        let only = AcceptedHosts::Only("example.com".to_owned());
        assert_eq!(AcceptedHosts::new("https://Example.com/a/", true), only);
    }
}
