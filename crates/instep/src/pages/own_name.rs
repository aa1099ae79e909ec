//! Checks the host that a request names, for servers that only this machine can reach.

use std::net::IpAddr;

use http::{Request, header, uri::Authority};

/// Returns `true` if a request names this machine. A page of any site can make its own name lead here, and could then
/// read data that only this machine may see (C8). An authority in the target replaces the header (RFC 9112 §3.2.2), and
/// over HTTP/2 there is no other.
pub(crate) fn names_this_machine<B>(request: &Request<B>) -> bool {
    let Some(authority) = named(request) else { return false };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns `true` if a request names a host with this port.
pub(crate) fn names_port<B>(request: &Request<B>, port: u16) -> bool {
    named(request).and_then(|authority| authority.port_u16()) == Some(port)
}

/// Returns the host and port that a request names; `None` if it names none.
fn named<B>(request: &Request<B>) -> Option<Authority> {
    let header = || request.headers().get(header::HOST).and_then(|host| host.to_str().ok()?.parse().ok());
    request.uri().authority().cloned().or_else(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o113_the_host_in_the_target_of_a_request_counts_more_than_its_header() {
        for (target, host, is_ours) in [
            ("/status", Some("127.0.0.1:8080"), true),
            ("/status", Some("[::1]:8080"), true),
            ("/status", Some("evil.example"), false),
            ("/status", Some("localhost.evil.example"), false),
            ("/status", None, false),
            ("http://evil.example/status", Some("127.0.0.1:8080"), false),
            // HTTP/2 has the authority in the target and no header.
            ("http://localhost:8080/status", None, true),
        ] {
            let mut request = Request::builder().uri(target);
            if let Some(host) = host {
                request = request.header(header::HOST, host);
            }
            let request = request.body(()).unwrap();
            assert_eq!(names_this_machine(&request), is_ours, "{target} {host:?}");
        }
    }
}
