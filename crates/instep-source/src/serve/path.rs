//! The path of a request to a name beneath a root: text only, nothing is opened here.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// A name beneath a root: segments joined by `/`, none of them empty, `.` or `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Beneath<'a> {
    /// The name; empty for the root itself.
    pub name: Cow<'a, [u8]>,
    /// `true` if the request ended in `/`.
    pub is_folder: bool,
}

/// Decodes the path of a request, without its leading `/`. `None` if it cannot name anything that is served, as a hidden
/// name: the answer is then the same as for a missing file, so that it reveals nothing (S1).
pub(crate) fn beneath(path: &str) -> Option<Beneath<'_>> {
    decode(path, |name| is_name(name) && (name[0] != b'.' || name == WELL_KNOWN))
}

/// Decodes the path of a request to what a supplier has: hidden names too, since it names each resource itself (O266).
pub(crate) fn beneath_supplied(path: &str) -> Option<Beneath<'_>> {
    decode(path, is_name)
}

fn decode(path: &str, is_servable: fn(&[u8]) -> bool) -> Option<Beneath<'_>> {
    let (path, is_folder) = match path.strip_suffix('/') {
        Some(rest) => (rest, true),
        None => (path, path.is_empty()),
    };
    if path.is_empty() {
        return is_folder.then_some(Beneath { name: Cow::Borrowed(b""), is_folder });
    }
    path.split('/').all(|segment| segment_is_servable(segment, is_servable)).then(|| Beneath {
        name: if path.contains('%') {
            percent_decode_str(path).collect()
        } else {
            Cow::Borrowed(path.as_bytes())
        },
        is_folder,
    })
}

/// The one hidden name that is served (RFC 8615).
const WELL_KNOWN: &[u8] = b".well-known";

fn segment_is_servable(segment: &str, is_servable: fn(&[u8]) -> bool) -> bool {
    if !segment.contains('%') {
        return is_servable(segment.as_bytes());
    }
    let decoded: Vec<u8> = percent_decode_str(segment).collect();
    escapes_are_complete(segment) && !decoded.contains(&b'/') && is_servable(&decoded)
}

fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name != b"." && name != b".." && !name.contains(&0)
}

fn escapes_are_complete(segment: &str) -> bool {
    segment.split('%').skip(1).all(|rest| {
        let mut digits = rest.bytes();
        let mut is_hex = || digits.next().is_some_and(|digit| digit.is_ascii_hexdigit());
        is_hex() && is_hex()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(path: &str) -> Option<String> {
        beneath(path).map(|beneath| String::from_utf8_lossy(&beneath.name).into_owned())
    }

    #[test]
    fn names_are_decoded_once() {
        assert_eq!(name("a/b.txt").as_deref(), Some("a/b.txt"));
        assert_eq!(name("a%20b/c%25.txt").as_deref(), Some("a b/c%.txt"));
        assert_eq!(name(".well-known/resourcesync").as_deref(), Some(".well-known/resourcesync"));
        assert_eq!(name("%C3%A4").as_deref(), Some("ä"));
        assert_eq!(name("").as_deref(), Some(""));
    }

    #[test]
    fn a_final_slash_names_a_folder() {
        assert!(beneath("a/").is_some_and(|beneath| beneath.is_folder && &*beneath.name == b"a"));
        assert!(beneath("a").is_some_and(|beneath| !beneath.is_folder));
    }

    #[test]
    fn what_leaves_the_root_or_hides_names_nothing() {
        let refused = [
            "..",
            "a/../b",
            "%2e%2e/a",
            "%2E%2e/",
            "a/%2e/b",
            "./a",
            "a//b",
            "/a",
            "a%2fb",
            "..%2f..",
            "%00",
            "a%00",
            ".git/config",
            ".instep/x",
            "a/.b",
            "%",
            "%2",
            "%zz",
            "a%2",
            "..%c0%af",
        ];
        for path in refused {
            assert_eq!(name(path), None, "{path}");
            let is_hidden = [".git/config", ".instep/x", "a/.b", "..%c0%af"].contains(&path);
            assert_eq!(beneath_supplied(path).is_some(), is_hidden, "{path}");
        }
    }
}
