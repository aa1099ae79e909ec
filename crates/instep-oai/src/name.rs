//! Identifiers of records as names of files: the only place of this crate where text from a repository becomes a path. PURE.

use std::fmt::Write as _;

/// Bytes of the longest name; most file systems take 255, and an ending follows.
const LONGEST: usize = 200;

/// Returns the name of an identifier. Two identifiers never have the same name.
///
/// Letters, digits and `-_.~:,;@+!()` are kept; any other byte, `=` and a leading dot are written as `=` and two
/// hexadecimal digits, so a name is one segment of a path, hidden nowhere, and its URI is readable:
/// `oai:arXiv.org:cs/0112017` becomes `oai:arXiv.org:cs=2F0112017`. A name that would be too long ends in `==` and a
/// digest of the identifier instead.
pub(crate) fn name_of(identifier: &str) -> String {
    let mut name = String::with_capacity(identifier.len() + 8);
    for byte in identifier.bytes() {
        let kept = byte.is_ascii_alphanumeric() || b"-_~:,;@+!()".contains(&byte);
        if kept || byte == b'.' && !name.is_empty() {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "={byte:02X}");
        }
    }
    if name.len() > LONGEST {
        let digest = blake3::hash(identifier.as_bytes()).to_hex();
        name.truncate(LONGEST - 66);
        let _ = write!(name, "=={digest}");
    }
    name
}

/// Returns the name of a file at a URL: its last segment, or `file`.
pub(crate) fn name_of_file(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let decoded = percent_encoding::percent_decode_str(last).decode_utf8_lossy();
    if decoded.is_empty() || path.trim_end_matches('/').matches('/').count() < 3 {
        "file".to_owned()
    } else {
        name_of(&decoded)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_readable_single_segments_and_never_shared() {
        let long = "x".repeat(900);
        let also_long = format!("{long}y");
        let identifiers = [
            ("oai:arXiv.org:cs/0112017", Some("oai:arXiv.org:cs=2F0112017")),
            ("../../etc/passwd", Some("=2E.=2F..=2Fetc=2Fpasswd")),
            (".", Some("=2E")),
            ("a=2Fb", Some("a=3D2Fb")),
            ("a/b", Some("a=2Fb")),
            ("\u{e9}\0", Some("=C3=A9=00")),
            (&long, None),
            (&also_long, None),
        ];
        let mut names = BTreeSet::new();
        for (identifier, expected) in identifiers {
            let name = name_of(identifier);
            assert!(expected.is_none_or(|expected| expected == name), "{identifier}: {name}");
            assert!(name.len() <= LONGEST && !name.contains('/') && !name.starts_with('.'), "{name}");
            assert!(names.insert(name), "{identifier} shares its name");
        }
    }

    #[test]
    fn a_file_is_named_as_its_url_ends() {
        for (url, name) in [
            ("https://x/bitstream/1/2/A%20b.pdf?sequence=1", "A=20b.pdf"),
            ("https://x/download/77", "77"),
            ("https://x/a/..%2Fb", "=2E.=2Fb"),
            ("https://x/", "file"),
            ("https://x", "file"),
        ] {
            assert_eq!(name_of_file(url), name, "{url}");
        }
    }
}
