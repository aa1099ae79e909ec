//! Where a callback may be: public addresses, and those the operator allowed (W1).

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

/// A range of addresses: `10.0.0.0/8`, `::1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    prefix_bits: u8,
}

impl Cidr {
    /// The addresses of this machine.
    pub const LOOPBACK: [Self; 2] = [
        Self { address: IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), prefix_bits: 8 },
        Self { address: IpAddr::V6(Ipv6Addr::LOCALHOST), prefix_bits: 128 },
    ];

    /// Whether an address is in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(range), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix_bits)).unwrap_or(0);
                range.to_bits() & mask == address.to_bits() & mask
            }
            (IpAddr::V6(range), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix_bits)).unwrap_or(0);
                range.to_bits() & mask == address.to_bits() & mask
            }
            _ => false,
        }
    }
}

impl FromStr for Cidr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("{text:?} is no range of addresses, such as 10.0.0.0/8");
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        if prefix_bits > most { Err(wrong()) } else { Ok(Self { address, prefix_bits }) }
    }
}

/// Ranges that no address on the public internet lies in.
const NOT_PUBLIC: [&str; 25] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
    "::/127",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "fc00::/7",
    "fe80::/9",
    "ff00::/8",
];

/// Whether a callback may be at an address.
pub(super) fn is_allowed(address: IpAddr, allowed: &[Cidr]) -> bool {
    // An IPv4 address in the clothes of an IPv6 one is judged as what it leads to.
    let address = address.to_canonical();
    allowed.iter().any(|range| range.contains(address))
        || !NOT_PUBLIC.iter().any(|range| range.parse::<Cidr>().is_ok_and(|range| range.contains(address)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w1_only_public_addresses_are_allowed() {
        for private in [
            "127.0.0.1",
            "127.9.9.9",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "198.19.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "224.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "ff02::1",
            "fec0::1",
            "2001:db8::1",
        ] {
            assert!(!is_allowed(private.parse().unwrap(), &[]), "{private}");
        }
        for public in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00::1"] {
            assert!(is_allowed(public.parse().unwrap(), &[]), "{public}");
        }
    }

    #[test]
    fn the_operator_allows_ranges() {
        let allowed = ["10.1.0.0/16".parse().unwrap(), "fd00::/8".parse().unwrap()];
        assert!(is_allowed("10.1.2.3".parse().unwrap(), &allowed));
        assert!(is_allowed("fd12::1".parse().unwrap(), &allowed));
        assert!(!is_allowed("10.2.0.1".parse().unwrap(), &allowed));
        assert!(is_allowed("127.0.0.1".parse().unwrap(), &Cidr::LOOPBACK));
        for wrong in ["", "x", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1"] {
            assert!(wrong.parse::<Cidr>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_range_is_one() {
        assert!(NOT_PUBLIC.iter().all(|range| range.parse::<Cidr>().is_ok()));
    }
}
