//! A start tag and its attributes.

use std::borrow::Cow;

use quick_xml::{XmlVersion, events::BytesStart};

use super::{name::is_qualified_name, scan, window::first_forbidden};
use crate::error::{LimitKind, SyntaxErrorKind};

/// Attributes that a tag may have to be read without the library.
const FEW: usize = 8;

/// The content of a start tag, between `<` and `>`.
#[derive(Debug)]
pub(super) struct Tag<'t> {
    content: &'t str,
    name_bytes: usize,
    plain: Option<Plain<'t>>,
}

/// Attributes whose values are literal, without references: nearly all are.
#[derive(Debug, Default)]
struct Plain<'t> {
    attributes: [(&'t str, &'t str); FEW],
    count: usize,
    /// `true` if one of them has a prefix or declares a namespace.
    has_prefixes: bool,
}

impl<'t> Tag<'t> {
    pub(super) fn new(content: &'t str) -> Self {
        let name_bytes = scan::name_bytes(content.as_bytes());
        let raw = &content[name_bytes..];
        Self { content, name_bytes, plain: if raw.is_empty() { None } else { Plain::read(raw) } }
    }

    pub(super) fn name(&self) -> &'t str {
        &self.content[..self.name_bytes]
    }

    /// Returns `true` if there may be attributes.
    pub(super) fn has_attributes(&self) -> bool {
        self.name_bytes < self.content.len()
    }

    /// Returns `true` unless no attribute has a prefix or declares a namespace.
    pub(super) fn may_have_prefixes(&self) -> bool {
        self.plain.as_ref().map_or_else(|| self.has_attributes(), |plain| plain.has_prefixes)
    }

    /// Passes on the namespace declarations: each attribute's name after `xmlns`, and the URI.
    pub(super) fn declarations(&self, mut take: impl FnMut(&str, &str)) {
        match &self.plain {
            Some(plain) => plain.iter().for_each(|(key, value)| {
                if let Some(rest) = key.strip_prefix("xmlns") {
                    take(rest, value);
                }
            }),
            None if self.content[self.name_bytes..].contains("xmlns") => {
                for attribute in self.event().attributes().with_checks(false).flatten() {
                    if let Some(rest) = attribute.key.as_ref().strip_prefix("xmlns") {
                        take(rest, &attribute.normalized_value(XmlVersion::Implicit1_0).unwrap_or_default());
                    }
                }
            }
            None => {}
        }
    }

    /// Passes on each attribute with its normalized value, and checks what the XML library does not check.
    pub(super) fn for_each_attribute(
        &self,
        most: usize,
        mut take: impl FnMut(&str, &str),
    ) -> Result<(), SyntaxErrorKind> {
        let too_many = SyntaxErrorKind::Limit { limit: LimitKind::Attributes, most: most as u64 };
        if let Some(plain) = &self.plain {
            plain.iter().take(most).for_each(|(key, value)| take(key, value));
            return if plain.count > most { Err(too_many) } else { Ok(()) };
        }
        if !self.has_attributes() {
            return Ok(());
        }
        let ill_formed = |what: &dyn std::fmt::Display| SyntaxErrorKind::NotWellFormed(what.to_string());
        for (index, attribute) in self.event().attributes().enumerate() {
            if index >= most {
                return Err(too_many);
            }
            let attribute = attribute.map_err(|error| ill_formed(&error))?;
            let value = match is_literal(&attribute.value) {
                true => Cow::Borrowed(&*attribute.value),
                false if attribute.value.contains('<') => {
                    return Err(SyntaxErrorKind::NotWellFormed("\"<\" in an attribute's value".into()));
                }
                false => {
                    let value = attribute.normalized_value(XmlVersion::Implicit1_0);
                    let value = value.map_err(|error| ill_formed(&error))?;
                    if first_forbidden(value.as_bytes()).is_some() {
                        return Err(ill_formed(&"a reference to a character that XML does not allow"));
                    }
                    value
                }
            };
            take(attribute.key.as_ref(), &value);
        }
        Ok(())
    }

    /// Returns the first fault of an attribute that XML does not allow, although it can be read: a name that is none, or
    /// no blank before it. Plain attributes have no such fault.
    pub(super) fn attribute_fault(&self) -> Option<String> {
        if self.plain.is_some() {
            return None;
        }
        let start = |text: &str| text.chars().take(40).collect::<String>();
        let mut rest = &self.content[self.name_bytes..];
        loop {
            let attribute = rest.trim_ascii_start();
            let (name, value) = attribute.split_once('=')?;
            let (name, value) = (name.trim_ascii_end(), value.trim_ascii_start());
            if attribute.len() == rest.len() {
                return Some(format!("the attribute {:?} without a blank before it", start(name)));
            }
            if !is_qualified_name(name) {
                return Some(format!("{:?}, which cannot name an attribute", start(name)));
            }
            let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
            rest = value[1..].split_once(quote)?.1;
        }
    }

    fn event(&self) -> BytesStart<'t> {
        BytesStart::from_content(self.content, self.name_bytes)
    }
}

impl<'t> Plain<'t> {
    /// Reads plain attributes; `None` if one is not plain, and the library must read them.
    fn read(mut rest: &'t str) -> Option<Self> {
        let mut plain = Self::default();
        loop {
            let attribute = rest.trim_ascii_start();
            if attribute.is_empty() {
                return Some(plain);
            }
            if attribute.len() == rest.len() || plain.count == FEW {
                return None;
            }
            let name_bytes = attribute.bytes().position(|byte| !is_name(byte))?;
            let (name, quoted) = attribute.split_at(name_bytes);
            let quote = match quoted.as_bytes() {
                [b'=', quote @ (b'"' | b'\''), ..] => *quote,
                _ => return None,
            };
            let end = memchr::memchr(quote, &quoted.as_bytes()[2..])?;
            let (value, after) = (&quoted[2..2 + end], &quoted[3 + end..]);
            let has_prefix = has_prefix(name)?;
            if !is_literal(value) || plain.iter().any(|(other, _)| *other == name) {
                return None;
            }
            plain.has_prefixes |= has_prefix || name == "xmlns";
            plain.attributes[plain.count] = (name, value);
            plain.count += 1;
            rest = after;
        }
    }

    fn iter(&self) -> std::slice::Iter<'_, (&'t str, &'t str)> {
        self.attributes[..self.count].iter()
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'-' | b'_' | b'.')
}

/// Returns `true` if a name of such bytes has a prefix; `None` if it is not a name of XML, with at most one prefix.
fn has_prefix(name: &str) -> Option<bool> {
    let begins = |part: &str| part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    match name.split_once(':') {
        Some((prefix, local)) => (begins(prefix) && begins(local) && !local.contains(':')).then_some(true),
        None => begins(name).then_some(false),
    }
}

/// Returns `true` if a value is literal: no reference, no white space except blanks, no `<`.
fn is_literal(value: &str) -> bool {
    !value.bytes().fold(false, |special, byte| special | (byte < b' ') | (byte == b'&') | (byte == b'<'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Tag;

    fn read(tag: &Tag<'_>) -> Result<Vec<(String, String)>, String> {
        let mut read = Vec::new();
        tag.for_each_attribute(64, |key, value| read.push((key.to_owned(), value.to_owned())))
            .map(|()| read)
            .map_err(|kind| kind.to_string())
    }

    fn noise() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec![
            " ",
            "\n",
            "a",
            "rs:b",
            "=",
            "\"",
            "'",
            "=\"c\"",
            "='d e'",
            "&amp;",
            "&",
            ">",
            "/",
            "ä",
            "=\"1\" ",
            " x=\"\"",
            " xmlns:y=\"z\"",
        ]);
        prop::collection::vec(part, 0..10).prop_map(|parts| format!("t{}", parts.concat()))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn plain_attributes_are_what_the_library_reads(content in noise()) {
            let tag = Tag::new(&content);
            let by_the_library = Tag { plain: None, ..Tag::new(&content) };
            prop_assert_eq!(read(&tag), read(&by_the_library));
            let declared = |tag: &Tag<'_>| {
                let mut declared = Vec::new();
                tag.declarations(|rest, uri| declared.push((rest.to_owned(), uri.to_owned())));
                declared
            };
            prop_assert_eq!(declared(&tag), declared(&by_the_library));
        }
    }
}
