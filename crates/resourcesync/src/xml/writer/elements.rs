//! Elements and attributes as text. A list has a million entries, so that nothing is formatted that can be appended.

use std::fmt::{Display, Write as _};

use quick_xml::escape::escape;

use crate::{
    document::{Attribute, Link, Metadata},
    value::{Capability, Change, MediaType, PackagePath},
};

/// Appends pieces one after the other.
pub(super) fn push_all<const N: usize>(text: &mut String, pieces: [&str; N]) {
    pieces.iter().for_each(|piece| text.push_str(piece));
}

pub(super) fn write_element(text: &mut String, name: &str, value: Option<impl Display>) {
    if let Some(value) = value {
        push_all(text, ["    <", name, ">"]);
        let _ = write!(text, "{value}");
        push_all(text, ["</", name, ">\n"]);
    }
}

pub(super) fn write_priority(text: &mut String, priority: Option<&str>) {
    let Some(priority) = priority else { return };
    text.push_str("    <priority>");
    push_escaped(text, priority);
    text.push_str("</priority>\n");
}

/// Writes `rs:md` with its attributes in the order of this function; nothing if it has none.
pub(super) fn write_metadata(text: &mut String, indent: &str, md: &Metadata) {
    let start = text.len();
    push_all(text, [indent, "<rs:md"]);
    let empty = text.len();
    attribute(text, "capability", md.capability.as_ref().map(Capability::as_str));
    value_attribute(text, "at", md.at);
    value_attribute(text, "completed", md.completed);
    value_attribute(text, "from", md.from);
    value_attribute(text, "until", md.until);
    attribute(text, "change", md.change.as_ref().map(Change::as_str));
    value_attribute(text, "datetime", md.datetime);
    attribute(text, "encoding", md.encoding.as_deref());
    value_attribute(text, "hash", (!md.hash.is_empty()).then_some(&md.hash));
    value_attribute(text, "length", md.length);
    value_attribute(text, "modified", md.modified);
    attribute(text, "path", md.path.as_ref().map(PackagePath::as_str));
    attribute(text, "type", md.media_type.as_ref().map(MediaType::as_str));
    foreign_attributes(text, &md.other);
    if text.len() == empty {
        text.truncate(start);
    } else {
        text.push_str("/>\n");
    }
}

pub(super) fn write_link(text: &mut String, indent: &str, link: &Link) {
    push_all(text, [indent, "<rs:ln"]);
    attribute(text, "rel", Some(link.rel.as_str()));
    attribute(text, "href", Some(link.href.as_str()));
    attribute(text, "encoding", link.encoding.as_deref());
    value_attribute(text, "hash", (!link.hash.is_empty()).then_some(&link.hash));
    value_attribute(text, "length", link.length);
    value_attribute(text, "modified", link.modified);
    attribute(text, "path", link.path.as_ref().map(PackagePath::as_str));
    value_attribute(text, "pri", link.pri);
    attribute(text, "type", link.media_type.as_ref().map(MediaType::as_str));
    foreign_attributes(text, &link.other);
    text.push_str("/>\n");
}

fn attribute(text: &mut String, name: &str, value: Option<&str>) {
    let Some(value) = value else { return };
    push_all(text, [" ", name, "=\""]);
    push_escaped(text, value);
    text.push('"');
}

/// An attribute whose value is composed.
fn value_attribute(text: &mut String, name: &str, value: Option<impl Display>) {
    let Some(value) = value else { return };
    push_all(text, [" ", name, "=\""]);
    let start = text.len();
    let _ = write!(text, "{value}");
    if has_special(&text[start..]) {
        let composed = text.split_off(start);
        push_escaped(text, &composed);
    }
    text.push('"');
}

/// Appends text with the special characters of XML escaped. White space is escaped too, because a reader would
/// normalize it to blanks.
pub(super) fn push_escaped(text: &mut String, value: &str) {
    if has_special(value) {
        let escaped = escape(value).replace('\t', "&#9;").replace('\n', "&#10;").replace('\r', "&#13;");
        text.push_str(&escaped);
    } else {
        text.push_str(value);
    }
}

/// Continues after the first match, so that the compiler can compare many bytes at once.
fn has_special(text: &str) -> bool {
    let special = |byte: u8| matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'' | b'\t' | b'\n' | b'\r');
    text.bytes().fold(false, |found, byte| found | special(byte))
}

/// Writes attributes of a community's own, each with its own namespace declaration (GEN-7). Those without a namespace
/// are left out: there is no way to write them.
fn foreign_attributes(text: &mut String, other: &[Attribute]) {
    for (index, foreign) in other.iter().filter(|foreign| !foreign.namespace.is_empty()).enumerate() {
        let declaration = format!("xmlns:c{index}");
        attribute(text, &declaration, Some(&foreign.namespace));
        attribute(text, &format!("c{index}:{}", foreign.name), Some(&foreign.value));
    }
}
