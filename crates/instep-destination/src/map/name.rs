//! One segment of a URI as a name that every common file system takes.

use std::{borrow::Cow, fmt::Write as _};

use data_encoding::HEXLOWER;

use super::fold::fold;

/// The longest name in bytes that every common file system accepts.
const LONGEST_NAME: usize = 255;
const INDEX: &str = "%40index";
const BODY: &str = "%40body";
const EMPTY: &str = "%40";
const QUERY: &str = "%40";
const DIGEST: &str = "%40%40";

/// Replaces an `@` at the beginning of a path, because the folders of other hosts begin with `@`.
pub(super) const FIRST_AT: &str = "%40%40";

/// Returns the names for decoded segments and a query, separated by slashes.
pub(super) fn path_of(segments: &[Cow<'_, [u8]>], query: Option<&str>) -> String {
    let Some((last, folders)) = segments.split_last() else { return INDEX.to_owned() };
    let mut path = String::with_capacity(segments.iter().map(|segment| segment.len() + 1).sum());
    for folder in folders {
        path.push_str(if folder.is_empty() { EMPTY } else { "" });
        push_escaped(&mut path, folder);
        path.push('/');
    }
    path.push_str(if last.is_empty() { INDEX } else { "" });
    push_escaped(&mut path, last);
    path.push_str(&marked_query(query));
    path
}

/// Returns the end that a query adds to a name.
pub(super) fn marked_query(query: Option<&str>) -> String {
    let Some(query) = query else { return String::new() };
    let mut name = QUERY.to_owned();
    push_octets(&mut name, &decode_query(query));
    name
}

/// Returns the path of the body of a URI that has other URIs below it.
pub(super) fn body_below(path: &str) -> String {
    format!("{path}/{BODY}")
}

/// Returns a name that ends in a digest. The name is shortened if it would be too long.
pub(super) fn with_digest(name: &str, digested: &[u8]) -> String {
    let mark = digest_mark(digested);
    let longest = (LONGEST_NAME - mark.len()).min(name.len());
    let end = (0..=longest).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    format!("{}{mark}", &name[..end])
}

/// Returns `true` if every common file system takes a name of this length.
pub(super) fn is_short(name: &str) -> bool {
    name.len() <= LONGEST_NAME
}

/// Returns the name. If it is too long, it is cut and made unique by its digest (D9).
pub(super) fn shortened(name: &str) -> Cow<'_, str> {
    if is_short(name) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(with_digest(name, name.as_bytes()))
}

/// Returns `%40%40` and 128 bits of SHA-256 in hexadecimal.
pub(super) fn digest_mark(digested: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, digested);
    format!("{DIGEST}{}", HEXLOWER.encode(&digest.as_ref()[..16]))
}

/// Returns the octets as one name.
pub(super) fn escape(octets: &[u8]) -> String {
    let mut name = String::with_capacity(octets.len());
    push_escaped(&mut name, octets);
    name
}

fn push_escaped(out: &mut String, octets: &[u8]) {
    match octets.split_first() {
        Some((&first, rest)) if is_risky(octets) => {
            push_escape(out, first);
            push_octets(out, rest);
        }
        _ => push_octets(out, octets),
    }
}

/// Returns `true` if a segment as it is written in a URI is its own name.
pub(super) fn is_plain(segment: &str) -> bool {
    let octets = segment.as_bytes();
    !octets.is_empty() && plain(octets).is_some() && !is_risky(octets)
}

/// Returns `true` if a name has a meaning for a shell, a device, git or instep: its first octet is escaped (D8). The
/// program reads `instep.toml` in the folder where it is started, and the file may name commands to run, so a Source
/// must not be able to place one in a copy.
fn is_risky(octets: &[u8]) -> bool {
    match octets.first() {
        Some(b'-') => true,
        // Each reserved name begins with one of these octets, so all other names are not folded and compared.
        Some(first) if b"acgilnp.".contains(&first.to_ascii_lowercase()) && octets.len() < 64 => {
            std::str::from_utf8(octets).is_ok_and(|name| is_reserved(&fold(name)))
        }
        _ => false,
    }
}

fn is_reserved(name: &str) -> bool {
    const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
    const OURS_AND_GITS: [&str; 5] = [".git", "git~1", ".instep", "instep~1", "instep.toml"];
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let numbered = || {
        let number = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"))?;
        let mut digits = number.chars();
        Some(digits.next().is_some_and(|digit| "0123456789¹²³".contains(digit)) && digits.next().is_none())
    };
    DEVICES.contains(&stem) || OURS_AND_GITS.contains(&name) || numbered().unwrap_or(false)
}

fn push_octets(out: &mut String, octets: &[u8]) {
    if let Some(plain) = plain(octets) {
        return out.push_str(plain);
    }
    let mut done = 0;
    for chunk in octets.utf8_chunks() {
        for char in chunk.valid().chars() {
            let at = done;
            done += char.len_utf8();
            let keep = match char {
                '%' => !octets[done..].get(..2).is_some_and(|next| next.iter().all(u8::is_ascii_hexdigit)),
                '.' | ' ' => done < octets.len(),
                _ => is_portable(char),
            };
            if keep {
                out.push(char);
            } else {
                octets[at..done].iter().for_each(|octet| push_escape(out, *octet));
            }
        }
        chunk.invalid().iter().for_each(|octet| push_escape(out, *octet));
        done += chunk.invalid().len();
    }
}

/// Returns the octets as text if every file system accepts each of them. Most names are such, and need no check of each
/// character.
fn plain(octets: &[u8]) -> Option<&str> {
    let is_plain = |octet: &u8| octet.is_ascii_alphanumeric() || b"-._".contains(octet);
    (octets.iter().all(is_plain) && octets.last() != Some(&b'.'))
        .then(|| std::str::from_utf8(octets).ok())
        .flatten()
}

fn push_escape(out: &mut String, octet: u8) {
    let _ = write!(out, "%{octet:02X}");
}

/// Returns `true` if a character is allowed in names everywhere, is visible, and does not change the direction of text.
fn is_portable(char: char) -> bool {
    const FORBIDDEN: &str = "<>:\"/\\|?*";
    const INVISIBLE: [std::ops::RangeInclusive<char>; 4] =
        ['\u{200B}'..='\u{200F}', '\u{2028}'..='\u{202E}', '\u{2060}'..='\u{206F}', '\u{FEFF}'..='\u{FEFF}'];
    !char.is_control() && !FORBIDDEN.contains(char) && !INVISIBLE.iter().any(|range| range.contains(&char))
}

/// Decodes the octets of a query that mean the same with and without encoding. `%26` stays, because it differs from
/// `&`; `%20` is decoded.
fn decode_query(query: &str) -> Vec<u8> {
    let mut octets = Vec::with_capacity(query.len());
    let mut rest = query.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let encoded = rest.get(..3).filter(|_| first == b'%');
        match encoded.and_then(|three| Some((three, percent_encoding::percent_decode(three).next()?))) {
            Some((three, octet)) => {
                if b"%:/?#[]@!$&'()*+,;=".contains(&octet) {
                    octets.extend(three.iter().map(u8::to_ascii_uppercase));
                } else {
                    octets.push(octet);
                }
                rest = &rest[3..];
            }
            None => {
                octets.push(first);
                rest = after;
            }
        }
    }
    octets
}
