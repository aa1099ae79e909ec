//! Ranges of addresses, as an operator writes them.

use std::{fmt, net::IpAddr, str::FromStr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// A range of addresses in CIDR notation: `10.0.0.0/8`, `fd00::/8`, or a single address such as `::1`.
///
/// ```
/// use instep_net::Cidr;
///
/// let office: Cidr = "10.1.0.0/16".parse()?;
/// assert!(office.contains("10.1.2.3".parse().unwrap()));
/// # Ok::<(), instep_net::CidrError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cidr(IpNet);

impl Cidr {
    /// The addresses of this machine: `127.0.0.0/8` and `::1`.
    pub const LOOPBACK: [Self; 2] = [
        Self(IpNet::V4(Ipv4Net::new_assert(std::net::Ipv4Addr::new(127, 0, 0, 0), 8))),
        Self(IpNet::V6(Ipv6Net::new_assert(std::net::Ipv6Addr::LOCALHOST, 128))),
    ];

    /// Returns `true` if the range contains the address. An IPv4 address that is mapped into IPv6 (`::ffff:a.b.c.d`)
    /// counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }

    /// Returns the network of an address whose first `v4_bits` or `v6_bits` bits are fixed. Limits count addresses of
    /// one network together. More bits than an address has mean the address itself.
    #[must_use]
    pub fn around(address: IpAddr, v4_bits: u8, v6_bits: u8) -> Self {
        let (address, bits) = match address.to_canonical() {
            v4 @ IpAddr::V4(_) => (v4, v4_bits.min(32)),
            v6 @ IpAddr::V6(_) => (v6, v6_bits.min(128)),
        };
        Self(IpNet::new_assert(address, bits).trunc())
    }
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let range = match text.parse::<IpAddr>() {
            Ok(address) => Ok(IpNet::from(address)),
            Err(_) => text.parse(),
        };
        range.map(|range| Self(range.trunc())).map_err(|_| CidrError { text: text.to_owned() })
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialOrd for Cidr {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cidr {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// A text that is not a range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a range of addresses; write it as 10.0.0.0/8 or fd00::/8")]
pub struct CidrError {
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(range: &str, address: &str) -> bool {
        range.parse::<Cidr>().unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn a_range_contains_the_addresses_with_its_prefix() {
        for (range, address, is_in) in [
            ("10.0.0.0/8", "10.1.2.3", true),
            ("10.9.9.9/8", "10.1.2.3", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fe80::1", false),
            ("::/0", "2001:db8::1", true),
        ] {
            assert_eq!(contains(range, address), is_in, "{range} {address}");
        }
    }

    #[test]
    fn what_is_not_a_range_is_refused() {
        for wrong in ["", "x", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8", "localhost"] {
            let error = wrong.parse::<Cidr>().unwrap_err();
            assert!(error.to_string().contains("10.0.0.0/8"), "{error}");
        }
    }

    #[test]
    fn the_network_around_an_address_has_its_first_bits() {
        let network = |address: &str| Cidr::around(address.parse().unwrap(), 24, 48).to_string();
        assert_eq!(network("192.0.2.77"), "192.0.2.0/24");
        assert_eq!(network("::ffff:192.0.2.77"), "192.0.2.0/24");
        assert_eq!(network("2001:db8:1:2::3"), "2001:db8:1::/48");
        assert_eq!(Cidr::around("192.0.2.77".parse().unwrap(), 99, 255).to_string(), "192.0.2.77/32");
    }

    #[test]
    fn the_addresses_of_this_machine_are_known() {
        for own in ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"] {
            assert!(Cidr::LOOPBACK.iter().any(|range| range.contains(own.parse().unwrap())), "{own}");
        }
    }
}
