//! The scope of a run: which URIs its documents may lead to, and which addresses it may connect to.

use std::net::IpAddr;

use crate::{
    address,
    cidr::Cidr,
    error::Refusal,
    origin::{self, Origin},
};

/// The URIs that documents may lead to, and the addresses that may be connected to (D22, D23).
///
/// A document may lead to its own host and that host's sub-domains on the same port, and to the allowed origins. `http`
/// may become `https`, never the other way round. Addresses that are not public are open only to origins and networks
/// that the operator named.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Scope {
    /// Restricts the targets of a document to its exact origin.
    pub strict: bool,
    /// Origins that every document may lead to.
    pub allowed: Vec<Origin>,
    /// Origins of URLs that the operator typed. These and the allowed ones may have addresses that are not public.
    pub named: Vec<Origin>,
    /// Networks that may be connected to although they are not public.
    pub networks: Vec<Cidr>,
}

impl Scope {
    /// Returns the scope of a run that starts at the operator's URL.
    ///
    /// # Errors
    /// If the URL is neither `http` nor `https`.
    pub fn for_source(url: &str) -> Result<Self, Refusal> {
        Ok(Self { named: vec![Origin::parse(url)?], ..Self::default() })
    }

    /// Returns a scope that is open to public addresses and to these networks: for URIs that strangers name.
    pub fn for_networks(networks: impl Into<Vec<Cidr>>) -> Self {
        Self { networks: networks.into(), ..Self::default() }
    }

    /// Checks that a document of an origin may lead to a URI.
    ///
    /// # Errors
    /// If it may not, with the reason.
    pub fn check(&self, speaker: &Origin, target: &str) -> Result<(), Refusal> {
        // Most lists name a million URIs on their own host: a text comparison avoids parsing them.
        if speaker.begins(target) {
            return Ok(());
        }
        self.check_origin(speaker, &Origin::of(&origin::parse(target)?)?)
    }

    pub(crate) fn check_origin(&self, speaker: &Origin, target: &Origin) -> Result<(), Refusal> {
        let own = if self.strict { speaker == target } else { speaker.speaks_for(target) };
        if own || self.allowed.contains(target) {
            return Ok(());
        }
        Err(Refusal::OutOfScope { speaker: speaker.clone(), target: target.clone() })
    }

    /// Checks the parts of a URI that need no name resolution: its scheme, and its address if it is written out.
    ///
    /// # Errors
    /// If the URI is not requested at all, with the reason.
    pub fn check_literal(&self, uri: &str) -> Result<(), Refusal> {
        let origin = Origin::parse(uri)?;
        match address::literal(origin.host()) {
            Some(address) => self.check_addresses(origin.host(), origin.port(), &[address]),
            None => Ok(()),
        }
    }

    /// Checks the addresses of a host. One refused address among good ones is enough to refuse the host, because such
    /// an answer is an attempt to reach internal hosts.
    pub(crate) fn check_addresses(&self, host: &str, port: u16, addresses: &[IpAddr]) -> Result<(), Refusal> {
        if self.may_be_private(host, port) {
            return Ok(());
        }
        for address in addresses {
            let is_allowed = || self.networks.iter().any(|network| network.contains(*address));
            if let Some(purpose) = address::special_purpose(*address).filter(|_| !is_allowed()) {
                return Err(Refusal::PrivateAddress { host: host.to_owned(), address: *address, purpose });
            }
        }
        Ok(())
    }

    /// Returns `true` if this host and port may have addresses that are not public. An operator who names `http` allows
    /// the step to `https` as well.
    pub(crate) fn may_be_private(&self, host: &str, port: u16) -> bool {
        let host = origin::usual_host(host);
        self.named.iter().chain(&self.allowed).any(|origin| {
            let same_port =
                origin.port() == port || (!origin.is_secure() && origin.port() == 80 && port == 443);
            same_port && origin.host() == host
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(scope: &Scope, speaker: &str, target: &str) -> bool {
        scope.check(&Origin::parse(speaker).unwrap(), target).is_ok()
    }

    /// A scheme other than http and https is outside of every scope (D26).
    #[test]
    fn d22_a_document_speaks_for_its_host_and_its_sub_domains() {
        let scope = Scope::default();
        for (speaker, target, covered) in [
            ("http://example.com/list", "http://example.com/a", true),
            ("http://example.com/list", "http://EXAMPLE.com.:80/a", true),
            ("http://example.com/list", "http://data.example.com/a", true),
            ("http://example.com/list", "https://example.com/a", true),
            ("http://example.com:8080/list", "http://data.example.com:8080/a", true),
            ("http://example.com/list", "http://example.com:8080/a", false),
            ("http://example.com/list", "https://example.com:8443/a", false),
            ("https://example.com/list", "http://example.com/a", false),
            ("http://data.example.com/list", "http://example.com/a", false),
            ("http://example.com/list", "http://badexample.com/a", false),
            ("http://example.com/list", "http://example.com@evil.org/a", false),
            ("http://10.0.0.1/list", "http://2.10.0.0.1/a", false),
            ("http://example.com/list", "file:///etc/passwd", false),
            ("http://example.com/list", "ftp://example.com/a", false),
            ("http://example.com/list", "data:text/plain,a", false),
            ("http://example.com/list", "gopher://example.com/", false),
            ("http://example.com/list", "jar:http://example.com/a!/b", false),
            ("http://example.com/list", "ws://example.com/", false),
            ("http://example.com/list", "/a", false),
        ] {
            assert_eq!(covers(&scope, speaker, target), covered, "{speaker} -> {target}");
        }
    }

    #[test]
    fn d23_only_a_named_host_may_be_private_on_its_port_or_after_the_step_to_https() {
        let scope = Scope::for_source("http://intranet/").unwrap();
        assert!(scope.may_be_private("Intranet.", 80) && scope.may_be_private("intranet", 443));
        assert!(!scope.may_be_private("intranet", 8080) && !scope.may_be_private("sub.intranet", 80));
        assert!(!Scope::for_source("http://intranet:8080/").unwrap().may_be_private("intranet", 443));
    }

    #[test]
    fn o424_a_named_ipv6_address_may_be_private_in_each_of_its_spellings() {
        let scope = Scope::for_source("http://[fd00:0::1]/").unwrap();
        assert!(scope.may_be_private("[fd00::1]", 80) && scope.may_be_private("[FD00:0:0::1]", 80));
        assert!(!scope.may_be_private("[fd00::2]", 80));
    }

    #[test]
    fn a_strict_scope_is_the_exact_origin() {
        let scope = Scope { strict: true, ..Scope::default() };
        assert!(covers(&scope, "http://example.com/list", "http://example.com/a"));
        assert!(!covers(&scope, "http://example.com/list", "http://data.example.com/a"));
        assert!(!covers(&scope, "http://example.com/list", "https://example.com/a"));
    }

    #[test]
    fn an_allowed_origin_is_open_to_every_document() {
        let scope =
            Scope { allowed: vec![Origin::parse("https://cdn.example.org").unwrap()], ..Scope::default() };
        assert!(covers(&scope, "http://example.com/list", "https://cdn.example.org/a"));
        assert!(!covers(&scope, "http://example.com/list", "https://cdn.example.org:8443/a"));
    }

    #[test]
    fn w1_addresses_in_any_spelling_are_judged_before_a_connection() {
        let scope = Scope::for_networks(["10.1.0.0/16".parse().unwrap()]);
        for refused in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://[::1]/",
            "http://[::ffff:7f00:1]/",
            "http://[::127.0.0.1]/",
            "http://[::169.254.169.254]/",
            "http://169.254.169.254/latest",
            "http://10.2.0.1/",
            "ftp://example.com/",
            "file:///etc/passwd",
        ] {
            assert!(scope.check_literal(refused).is_err(), "{refused}");
        }
        for admitted in ["https://example.com/callback", "http://10.1.2.3:8080/", "http://[::ffff:10.1.2.3]/"]
        {
            assert_eq!(scope.check_literal(admitted), Ok(()), "{admitted}");
        }
    }
}
