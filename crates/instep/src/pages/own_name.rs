//! The host that requests must name while only this machine can send them.

use std::net::IpAddr;

use http::{HeaderMap, header};

/// Returns `true` if a request names this machine. A page of any site can make its own name lead here, and could then
/// read data that only this machine may see (C8).
pub(crate) fn names_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let host = host.parse::<http::uri::Authority>().map(|host| host.host().to_owned()).unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
