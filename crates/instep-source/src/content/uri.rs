//! Paths as written in URIs, and back.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};

/// The characters that RFC 3986 does not allow in a path as they are; everything outside ASCII is escaped anyway.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Characters of the longest URI that a document can have (GEN-14).
pub(crate) const MOST_CHARACTERS: usize = 2_047;
/// The largest length of a resource, 1 PiB: the catalogue can still store the sum of many.
pub(crate) const MOST_BYTES: u64 = 1 << 50;

/// Returns `true` unless a URI is too long for every document.
pub(crate) fn is_publishable(uri: &str) -> bool {
    uri.len() <= MOST_CHARACTERS
}

/// Returns `true` if a URI has a password, or, as a URL of the web, a user.
pub(crate) fn has_login(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    authority.rsplit_once('@').is_some_and(|(user, _)| is_web || user.contains(':'))
}

/// Appends a relative path to a prefix; bytes that are not UTF-8 are escaped one by one.
pub(super) fn encode(prefix: &str, path: &[u8]) -> String {
    let mut uri = String::with_capacity(prefix.len() + path.len() + 8);
    uri.push_str(prefix);
    uri.extend(percent_encode(path, ESCAPED));
    uri
}

/// Writes a name as in URIs.
pub(crate) fn escape_path(name: &[u8]) -> String {
    encode("", name)
}

/// Returns the relative path for the rest of a URI; `None` if no file can have it: an empty segment, `.`, `..`, an escaped
/// slash or NUL, a query or a fragment.
pub(super) fn decode(rest: &str) -> Option<Vec<u8>> {
    let path = rest.strip_suffix('/').unwrap_or(rest);
    let segment = |segment: &str| {
        let decoded: Vec<u8> = percent_decode_str(segment).collect();
        let sound = !matches!(decoded.as_slice(), b"" | b"." | b"..")
            && !decoded.iter().any(|byte| matches!(byte, b'/' | 0))
            && !segment.contains(['?', '#']);
        sound.then_some(decoded)
    };
    let segments: Vec<Vec<u8>> = path.split('/').map(segment).collect::<Option<_>>()?;
    Some(segments.join(&b'/'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use resourcesync::Uri;

    use super::{decode, encode};

    #[test]
    fn s12_each_name_becomes_a_uri_that_leads_back_to_it() {
        for (path, uri) in [
            (&b"a b.txt"[..], "http://x/a%20b.txt"),
            (b"a&b=c;d.txt", "http://x/a&b=c;d.txt"),
            (b"100%.txt", "http://x/100%25.txt"),
            (b"what?.txt", "http://x/what%3F.txt"),
            (b"a#b/c<d>\"e\"'f'", "http://x/a%23b/c%3Cd%3E%22e%22'f'"),
            (b"line\nbreak", "http://x/line%0Abreak"),
            ("caf\u{e9}/\u{fffe}".as_bytes(), "http://x/caf%C3%A9/%EF%BF%BE"),
            (b"caf\xe9", "http://x/caf%E9"),
            (b"a:b/c@d", "http://x/a:b/c@d"),
        ] {
            let written = encode("http://x/", path);
            assert_eq!(written, uri);
            assert!(Uri::parse(&written).is_ok(), "{written}");
            assert_eq!(decode(&written["http://x/".len()..]).as_deref(), Some(path));
        }
    }

    #[test]
    fn s1_no_uri_leads_out_of_its_folder() {
        for rest in ["", "..", "a/../b", "%2e%2e/b", "a/%2E", "a//b", "/a", "a%2fb", "a%00", "a?b", "a#b"] {
            assert_eq!(decode(rest), None, "{rest}");
        }
    }

    proptest! {
        #[test]
        fn every_path_has_a_uri_of_its_own(segments in prop::collection::vec("[^/\0]{1,8}", 1..4)) {
            prop_assume!(segments.iter().all(|segment| segment != "." && segment != ".."));
            let path = segments.join("/");
            let uri = encode("http://x/", path.as_bytes());
            prop_assert!(Uri::parse(&uri).is_ok());
            prop_assert_eq!(decode(&uri["http://x/".len()..]), Some(path.into_bytes()));
        }
    }
}
