use super::{Origin, Refusal, origin};

/// Which URIs a document may lead to (invariant 7, D22): those of its own host and that host's sub-domains on the same port, and
/// those of origins that the operator allowed. `http` may become `https`, never back.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Scope {
    /// Whether a document speaks for its exact origin only.
    pub strict: bool,
    /// Origins that every document may lead to.
    pub allowed: Vec<Origin>,
    /// Origins of URLs that the operator typed: these and the allowed ones may have private addresses (D23).
    pub named: Vec<Origin>,
}

impl Scope {
    /// The scope of a run that starts at the operator's URL.
    ///
    /// # Errors
    /// When the URL is not of `http` or `https`.
    pub fn for_source(url: &str) -> Result<Self, Refusal> {
        Ok(Self { named: vec![Origin::parse(url)?], ..Self::default() })
    }

    /// Whether a document of the first origin may lead to a URI.
    ///
    /// # Errors
    /// When it may not, with the reason.
    pub fn check(&self, speaker: &Origin, target: &str) -> Result<(), Refusal> {
        // A list of a million entries of its own host has no need of a parser.
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

    /// Whether connections to this host and port may go to private addresses. Who names `http` has named the step to `https` too.
    pub(crate) fn may_be_private(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.');
        self.named.iter().chain(&self.allowed).any(|origin| {
            let same_port =
                origin.port() == port || (!origin.is_secure() && origin.port() == 80 && port == 443);
            same_port && origin.host().eq_ignore_ascii_case(host)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(scope: &Scope, speaker: &str, target: &str) -> bool {
        scope.check(&Origin::parse(speaker).unwrap(), target).is_ok()
    }

    /// D22, D26
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
}
