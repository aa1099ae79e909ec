//! Scope: the URIs that a document may list.

use instep_net::Origin;
use resourcesync::Uri;

use super::Draft;
use crate::{ProblemKind, map::climbs};

/// The characters that begin what follows the host of a URI.
const PATH: [char; 3] = ['/', '?', '#'];

impl Draft {
    /// Returns `true` if a URI is within the scope of a document; else reports it.
    pub(super) fn in_scope(&mut self, speaker: Option<&Origin>, uri: &Uri) -> bool {
        if climbs(uri) {
            let what = "It climbs with \"..\": refused".to_owned();
            self.problems.unusable(ProblemKind::OutOfScope, uri.as_str(), what);
            return false;
        }
        let Some(speaker) = speaker else { return true };
        // Most lists of a million entries have one host: its scope check, which parses the URI, is made only once.
        if self.in_scope.as_ref().is_some_and(|(spoke, known)| spoke == speaker && has_root(uri, known)) {
            return true;
        }
        match self.policy.scope.check(speaker, uri.as_str()) {
            Ok(()) => {
                self.in_scope = root(uri).map(|root| (speaker.clone(), root.to_owned()));
                true
            }
            Err(refusal) => {
                self.problems.refused(uri.as_str(), &refusal);
                false
            }
        }
    }
}

/// Returns a URI up to where its path begins; `None` if it has no host.
fn root(uri: &Uri) -> Option<&str> {
    let text = uri.as_str();
    let authority = text.find("//")? + 2;
    let length = text[authority..].find(PATH).unwrap_or(text.len() - authority);
    Some(&text[..authority + length])
}

/// Returns `true` if a URI has the same scheme and host as another one, whose root this is.
fn has_root(uri: &Uri, root: &str) -> bool {
    uri.as_str().strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with(PATH))
}

#[cfg(test)]
mod tests {
    use resourcesync::Uri;

    use super::{has_root, root};

    #[test]
    fn a_longer_host_has_another_root() {
        let uri = |text: &str| Uri::parse(text).unwrap();
        let known = uri("http://a.example/x");
        assert_eq!(root(&known), Some("http://a.example"));
        assert_eq!(root(&uri("http://a.example?x//y")), Some("http://a.example"));
        assert_eq!(root(&uri("urn:x")), None);
        for (text, is_equal) in [
            ("http://a.example/y", true),
            ("http://a.example?y", true),
            ("http://a.example", true),
            ("http://a.example.org/y", false),
            ("http://a.example:81/y", false),
            ("http://a.example@b.example/y", false),
            ("https://a.example/y", false),
        ] {
            assert_eq!(has_root(&uri(text), "http://a.example"), is_equal, "{text}");
        }
    }
}
