//! The table against the registries, in every spelling of an address.

use super::*;

/// Private addresses in every spelling that a resolver or a URL parser understands.
const SPELLINGS: [&str; 40] = [
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
fn d23_private_addresses_are_known_in_forty_spellings() {
    for host in SPELLINGS {
        let address = literal(host).unwrap_or_else(|| panic!("{host} is an address"));
        assert!(!is_public(address), "{host}");
    }
}

/// First and last address of each range of the IANA registries that is not globally reachable, with its purpose.
const REGISTRY: [(&str, &str, &str); 36] = [
    ("0.0.0.0", "0.255.255.255", "this network"),
    ("10.0.0.0", "10.255.255.255", "private"),
    ("100.64.0.0", "100.127.255.255", "shared by a provider's customers"),
    ("127.0.0.0", "127.255.255.255", "loopback"),
    ("168.63.129.16", "168.63.129.16", "a cloud provider's host"),
    ("169.254.0.0", "169.254.255.255", "link-local"),
    ("172.16.0.0", "172.31.255.255", "private"),
    ("192.0.0.0", "192.0.0.255", "protocol assignments"),
    ("192.0.2.0", "192.0.2.255", "documentation"),
    ("192.88.99.0", "192.88.99.255", "6to4 relays"),
    ("192.168.0.0", "192.168.255.255", "private"),
    ("198.18.0.0", "198.19.255.255", "benchmarking"),
    ("198.51.100.0", "198.51.100.255", "documentation"),
    ("203.0.113.0", "203.0.113.255", "documentation"),
    ("224.0.0.0", "239.255.255.255", "multicast"),
    ("240.0.0.0", "255.255.255.255", "reserved"),
    ("::1", "::1", "loopback"),
    ("::", "::", "unspecified"),
    ("::127.0.0.1", "::169.254.169.254", "IPv4-compatible"),
    ("::ffff:0:0:0", "::ffff:0:ffff:ffff", "IPv4-translated"),
    ("64:ff9b::", "64:ff9b::ffff:ffff", "NAT64"),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "NAT64"),
    ("100::", "100::ffff:ffff:ffff:ffff", "discarded"),
    ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "Teredo"),
    ("2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "protocol assignments"),
    ("2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", "protocol assignments"),
    ("2001:20::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "protocol assignments"),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
    ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "6to4"),
    ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
    ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "segment routing"),
    ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "private"),
    ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "link-local"),
    ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "site-local"),
    ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast"),
    ("4000::", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "not allocated"),
];

#[test]
fn d23_w1_the_ends_of_each_special_range_are_refused_with_its_purpose() {
    for (first, last, purpose) in REGISTRY {
        for address in [first, last] {
            assert_eq!(special_purpose(address.parse().unwrap()), Some(purpose), "{address}");
        }
    }
}

#[test]
fn d23_w1_the_neighbours_of_special_ranges_are_public() {
    for address in [
        "1.0.0.0",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.31.7.1",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2000::1",
        "2001:200::1",
        "2001:db7:ffff::1",
        "2001:db9::1",
        "2003::1",
        "2606:4700::1111",
        "2a00::1",
        "3ffe::1",
        "3fff:1000::1",
        "::ffff:8.8.8.8",
    ] {
        assert_eq!(special_purpose(address.parse().unwrap()), None, "{address}");
    }
}

/// An internal IPv4 address stays internal, however IPv6 carries it.
#[test]
fn d23_w1_an_embedded_ipv4_address_leads_nowhere_internal() {
    for v4 in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1"] {
        let [a, b, c, d] = v4.parse::<Ipv4Addr>().unwrap().octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        for carried in [
            format!("::ffff:{v4}"),
            format!("::{v4}"),
            format!("::ffff:0:{v4}"),
            format!("64:ff9b::{v4}"),
            format!("64:ff9b:1::{v4}"),
            format!("2002:{high:x}:{low:x}::1"),
            format!("2001:0:808:808::{:x}:{:x}", !high, !low),
        ] {
            assert!(!is_public(carried.parse().unwrap()), "{carried}");
        }
    }
}

#[test]
fn a_name_is_not_an_address() {
    assert_eq!(literal("example.com"), None);
    assert_eq!(literal("10.0.0.1.example.com"), None);
}
