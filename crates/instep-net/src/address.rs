//! PURE: addresses that no document may lead to unless the operator named them (D23).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of IPv4 that are not the public Internet.
const V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Networks of IPv6 that are not the public Internet, or that carry an IPv4 address.
const V6: [(Ipv6Addr, u32); 11] = [
    (Ipv6Addr::UNSPECIFIED, 96),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8),
];

/// Whether an address belongs to the public Internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_public_v4(v4),
            None => !V6.iter().any(|(net, bits)| (v6.to_bits() ^ net.to_bits()) >> (128 - bits) == 0),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !V4.iter().any(|(net, bits)| (address.to_bits() ^ net.to_bits()) >> (32 - bits) == 0)
}

/// The address that a host is written as, if it is one: dotted, decimal, octal, hexadecimal, or IPv6 in brackets.
pub(crate) fn written(host: &str) -> Option<IpAddr> {
    match url::Host::parse(host).ok()? {
        url::Host::Ipv4(v4) => Some(v4.into()),
        url::Host::Ipv6(v6) => Some(v6.into()),
        url::Host::Domain(_) => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The forty forms of D23.
    pub(crate) const PRIVATE_HOSTS: [&str; 40] = [
        "127.0.0.1",
        "127.1",
        "127.255.255.254",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "0",
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "0xa000001",
        "167772161",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "3232235521",
        "0300.0250.0.1",
        "169.254.169.254",
        "0xa9fea9fe",
        "100.64.0.1",
        "100.127.255.255",
        "198.18.0.1",
        "198.19.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "168.63.129.16",
        "224.0.0.1",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[fc00::1]",
        "[fd12:3456::1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "[::127.0.0.1]",
    ];

    #[test]
    fn d23_forty_forms_of_private_addresses_are_known() {
        for host in PRIVATE_HOSTS {
            let address = written(host).unwrap_or_else(|| panic!("{host} is an address"));
            assert!(!is_public(address), "{host}");
        }
    }

    #[test]
    fn public_addresses_are_public() {
        for host in
            ["8.8.8.8", "172.32.0.1", "100.128.0.1", "198.20.0.1", "[2606:4700::1111]", "[::ffff:8.8.8.8]"]
        {
            assert!(is_public(written(host).unwrap()), "{host}");
        }
        assert_eq!(written("example.com"), None);
    }
}
