//! The one table of addresses that are not part of the public Internet (D23, W1).
//!
//! Every connection to a host that others name (a document, a redirect, a subscriber) is checked against this table.
//! It is built from the IANA special-purpose address registries (RFC 6890 and its updates), the multicast and
//! unallocated space, and one address of a cloud provider. Networks that carry an IPv4 address inside an IPv6 one
//! (6to4, NAT64, Teredo, IPv4-compatible) are refused completely: a gateway may lead them to an internal host, and no
//! server needs them. Only `::ffff:a.b.c.d`, which the operating system itself connects to over IPv4, is judged by
//! the address in it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6(first: u16, second: u16, third: u16, bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, third, 0, 0, 0, 0, 0), bits)
}

const V4: [(Ipv4Net, &str); 16] = [
    (v4(0, 0, 0, 0, 8), "this network"),
    (v4(10, 0, 0, 0, 8), "private"),
    (v4(100, 64, 0, 0, 10), "shared by a provider's customers"),
    (v4(127, 0, 0, 0, 8), "loopback"),
    // Of the public space, but answered by the host of a virtual machine on Azure.
    (v4(168, 63, 129, 16, 32), "a cloud provider's host"),
    (v4(169, 254, 0, 0, 16), "link-local"),
    (v4(172, 16, 0, 0, 12), "private"),
    (v4(192, 0, 0, 0, 24), "protocol assignments"),
    (v4(192, 0, 2, 0, 24), "documentation"),
    (v4(192, 88, 99, 0, 24), "6to4 relays"),
    (v4(192, 168, 0, 0, 16), "private"),
    (v4(198, 18, 0, 0, 15), "benchmarking"),
    (v4(198, 51, 100, 0, 24), "documentation"),
    (v4(203, 0, 113, 0, 24), "documentation"),
    (v4(224, 0, 0, 0, 4), "multicast"),
    (v4(240, 0, 0, 0, 4), "reserved"),
];

/// The first entry that contains an address names it, so the wide ones come last.
const V6: [(Ipv6Net, &str); 20] = [
    (Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128), "loopback"),
    (Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 128), "unspecified"),
    (v6(0, 0, 0, 96), "IPv4-compatible"),
    (Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96), "IPv4-translated"),
    (v6(0x64, 0xff9b, 0, 96), "NAT64"),
    (v6(0x64, 0xff9b, 1, 48), "NAT64"),
    (v6(0x100, 0, 0, 64), "discarded"),
    (v6(0x2001, 0, 0, 32), "Teredo"),
    // Benchmarking, ORCHID (2001:10::/28, 2001:20::/28), DRIP and everything else assigned there.
    (v6(0x2001, 0, 0, 23), "protocol assignments"),
    (v6(0x2001, 0xdb8, 0, 32), "documentation"),
    (v6(0x2002, 0, 0, 16), "6to4"),
    (v6(0x3fff, 0, 0, 20), "documentation"),
    (v6(0x5f00, 0, 0, 16), "segment routing"),
    (v6(0xfc00, 0, 0, 7), "private"),
    (v6(0xfe80, 0, 0, 10), "link-local"),
    (v6(0xfec0, 0, 0, 10), "site-local"),
    (v6(0xff00, 0, 0, 8), "multicast"),
    // Only 2000::/3 is allocated for global unicast.
    (v6(0, 0, 0, 3), "not allocated"),
    (v6(0x4000, 0, 0, 2), "not allocated"),
    (v6(0x8000, 0, 0, 1), "not allocated"),
];

/// Returns the purpose of the special range that an address lies in; `None` if the address is public.
///
/// ```
/// use instep_net::special_purpose;
///
/// assert_eq!(special_purpose("::ffff:127.0.0.1".parse().unwrap()), Some("loopback"));
/// assert_eq!(special_purpose("2606:4700::1111".parse().unwrap()), None);
/// ```
pub fn special_purpose(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(address) => V4.iter().find(|(range, _)| range.contains(&address)).map(|(_, name)| *name),
        IpAddr::V6(address) => V6.iter().find(|(range, _)| range.contains(&address)).map(|(_, name)| *name),
    }
}

/// Returns `true` if an address belongs to the public Internet.
pub fn is_public(address: IpAddr) -> bool {
    special_purpose(address).is_none()
}

/// Returns the address that a host is written as: dotted, decimal, octal, hexadecimal, or IPv6 in brackets. `None` if
/// it is a name.
pub(crate) fn literal(host: &str) -> Option<IpAddr> {
    match url::Host::parse(host).ok()? {
        url::Host::Ipv4(address) => Some(address.into()),
        url::Host::Ipv6(address) => Some(address.into()),
        url::Host::Domain(_) => None,
    }
}

#[cfg(test)]
mod tests;
