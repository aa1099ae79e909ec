//! Elements and attributes as text. A list has a million entries, so that nothing is formatted that can be appended, and
//! only values that can hold a special character are searched for one.

use memchr::memchr3;

use crate::{
    document::{Attribute, Link, Metadata},
    value::{Capability, Change, ChangeFreq, DateTime, DigestValue, Digests, MediaType, PackagePath},
};

/// Appends pieces one after the other.
pub(super) fn push_all<const N: usize>(text: &mut Vec<u8>, pieces: [&str; N]) {
    pieces.iter().for_each(|piece| push(text, piece));
}

/// Appends text that has no special character.
pub(super) fn push(text: &mut Vec<u8>, piece: &str) {
    text.extend_from_slice(piece.as_bytes());
}

pub(super) fn write_lastmod(text: &mut Vec<u8>, lastmod: Option<DateTime>) {
    let Some(lastmod) = lastmod else { return };
    push(text, "    <lastmod>");
    lastmod.append_to(text);
    push(text, "</lastmod>\n");
}

pub(super) fn write_changefreq(text: &mut Vec<u8>, changefreq: Option<ChangeFreq>) {
    if let Some(changefreq) = changefreq {
        push_all(text, ["    <changefreq>", changefreq.as_str(), "</changefreq>\n"]);
    }
}

pub(super) fn write_priority(text: &mut Vec<u8>, priority: Option<&str>) {
    let Some(priority) = priority else { return };
    push(text, "    <priority>");
    push_escaped(text, priority);
    push(text, "</priority>\n");
}

/// The text before the value of an attribute, in one piece.
macro_rules! opening {
    ($name:literal) => {
        concat!(" ", $name, "=\"")
    };
}

/// Writes `rs:md` with its attributes in the order of this function; nothing if it has none.
pub(super) fn write_metadata(text: &mut Vec<u8>, indent: &str, md: &Metadata) {
    let start = text.len();
    push_all(text, [indent, "<rs:md"]);
    let empty = text.len();
    attribute(text, opening!("capability"), md.capability.as_ref().map(Capability::as_str));
    time_attribute(text, opening!("at"), md.at);
    time_attribute(text, opening!("completed"), md.completed);
    time_attribute(text, opening!("from"), md.from);
    time_attribute(text, opening!("until"), md.until);
    attribute(text, opening!("change"), md.change.as_ref().map(Change::as_str));
    time_attribute(text, opening!("datetime"), md.datetime);
    attribute(text, opening!("encoding"), md.encoding.as_deref());
    hash_attribute(text, &md.hash);
    number_attribute(text, opening!("length"), md.length);
    time_attribute(text, opening!("modified"), md.modified);
    attribute(text, opening!("path"), md.path.as_ref().map(PackagePath::as_str));
    attribute(text, opening!("type"), md.media_type.as_ref().map(MediaType::as_str));
    foreign_attributes(text, &md.other);
    if text.len() == empty {
        text.truncate(start);
    } else {
        push(text, "/>\n");
    }
}

pub(super) fn write_link(text: &mut Vec<u8>, indent: &str, link: &Link) {
    push_all(text, [indent, "<rs:ln"]);
    attribute(text, opening!("rel"), Some(link.rel.as_str()));
    attribute(text, opening!("href"), Some(link.href.as_str()));
    attribute(text, opening!("encoding"), link.encoding.as_deref());
    hash_attribute(text, &link.hash);
    number_attribute(text, opening!("length"), link.length);
    time_attribute(text, opening!("modified"), link.modified);
    attribute(text, opening!("path"), link.path.as_ref().map(PackagePath::as_str));
    number_attribute(text, opening!("pri"), link.pri.map(u64::from));
    attribute(text, opening!("type"), link.media_type.as_ref().map(MediaType::as_str));
    foreign_attributes(text, &link.other);
    push(text, "/>\n");
}

fn attribute(text: &mut Vec<u8>, opening: &str, value: Option<&str>) {
    let Some(value) = value else { return };
    push(text, opening);
    push_escaped(text, value);
    text.push(b'"');
}

fn time_attribute(text: &mut Vec<u8>, opening: &str, time: Option<DateTime>) {
    let Some(time) = time else { return };
    push(text, opening);
    time.append_to(text);
    text.push(b'"');
}

fn number_attribute(text: &mut Vec<u8>, opening: &str, number: Option<u64>) {
    let Some(number) = number else { return };
    push(text, opening);
    push_number(text, number);
    text.push(b'"');
}

/// Appends the decimal digits of a number.
fn push_number(text: &mut Vec<u8>, mut number: u64) {
    let mut digits = [b'0'; 20];
    let mut first = digits.len() - 1;
    while number > 9 {
        digits[first] += (number % 10) as u8;
        number /= 10;
        first -= 1;
    }
    digits[first] += number as u8;
    text.extend_from_slice(&digits[first..]);
}

fn hash_attribute(text: &mut Vec<u8>, hash: &Digests) {
    if hash.is_empty() {
        return;
    }
    push(text, opening!("hash"));
    for (index, digest) in hash.iter().enumerate() {
        push(text, if index == 0 { "" } else { " " });
        let name = digest.algorithm.as_str();
        if digest.algorithm.digest_bytes().is_some() {
            push(text, name)
        } else {
            push_escaped(text, name)
        }
        text.push(b':');
        match &digest.value {
            DigestValue::Bytes(bytes) => bytes.append_to(text),
            DigestValue::Opaque(value) => push_escaped(text, value),
        }
    }
    text.push(b'"');
}

/// Appends text with special characters escaped. White space too: a reader would see blanks in its place.
pub(super) fn push_escaped(text: &mut Vec<u8>, value: &str) {
    match special_in(value) {
        (false, false) => push(text, value),
        (true, false) => push_references(text, value, |rest| memchr3(b'&', b'<', b'>', rest.as_bytes())),
        _ => push_references(text, value, |rest| rest.bytes().position(|byte| SPECIAL[usize::from(byte)])),
    }
}

/// Appends text with a reference in place of each special character that `next` finds.
fn push_references(text: &mut Vec<u8>, mut rest: &str, next: impl Fn(&str) -> Option<usize>) {
    while let Some(index) = next(rest) {
        let (plain, special) = rest.split_at(index);
        push_all(text, [plain, reference_to(special.as_bytes()[0]).unwrap_or_default()]);
        rest = &special[1..];
    }
    push(text, rest);
}

/// The bytes for which a reference stands.
static SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        special[byte] = reference_to(byte as u8).is_some();
        byte += 1;
    }
    special
};

/// Returns the reference that stands for a special character; `None` for any other. The special ones are ASCII, so that
/// a byte tells.
const fn reference_to(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'&' => "&amp;",
        b'<' => "&lt;",
        b'>' => "&gt;",
        b'"' => "&quot;",
        b'\'' => "&apos;",
        b'\t' => "&#9;",
        b'\n' => "&#10;",
        b'\r' => "&#13;",
        _ => return None,
    })
}

/// Returns `true` if a value has one of the special characters that URIs have, and `true` if it has another one.
/// Continues after the first match, so that the compiler can compare many bytes at once.
fn special_in(value: &str) -> (bool, bool) {
    value.bytes().fold((false, false), |(usual, rare), byte| {
        let is_usual = matches!(byte, b'&' | b'<' | b'>');
        (usual | is_usual, rare | (!is_usual & reference_to(byte).is_some()))
    })
}

/// Writes attributes of a community's own, each with its own namespace declaration (GEN-7). Those without a namespace
/// are left out: there is no way to write them.
fn foreign_attributes(text: &mut Vec<u8>, other: &[Attribute]) {
    for (index, foreign) in other.iter().filter(|foreign| !foreign.namespace.is_empty()).enumerate() {
        attribute(text, &format!(" xmlns:c{index}=\""), Some(&foreign.namespace));
        attribute(text, &format!(" c{index}:{}=\"", foreign.name), Some(&foreign.value));
    }
}
