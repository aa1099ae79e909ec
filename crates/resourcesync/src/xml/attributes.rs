//! The attributes of `rs:md` and `rs:ln` (Table 3): a bad value costs that value, never the element.

use super::{
    names::{Namespace, NamespaceScope, split_prefix},
    tag::Tag,
};
use crate::{
    document::{Attribute, Link, Metadata},
    error::SyntaxErrorKind,
    finding::Severity,
    tables::misplaced,
    value::{Capability, Change, DateTime, DigestError, MediaType, PackagePath, Relation},
};

/// The attributes of an `rs:md` or `rs:ln` element. The reader distinguishes the two.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    pub(super) metadata: Metadata,
    pub(super) rel: Option<Relation>,
    pub(super) href: Option<String>,
    pub(super) pri: Option<u32>,
    /// `true` if a time could not be read.
    pub(super) unreadable_time: bool,
    /// `true` if the length could not be read.
    pub(super) unreadable_length: bool,
    /// The last media type, which is shared if it repeats: lists have few different ones.
    last_type: Option<MediaType>,
}

/// Options of reading attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Attributes that an element may have.
    pub(super) most: usize,
    /// `true` for `rs:ln`.
    pub(super) on_link: bool,
    /// `true` if attributes with the prefix of ResourceSync are read (DIA-6).
    pub(super) prefixed: bool,
}

/// Receives a rule, its severity, the text found and the text expected.
pub(super) type AttributeReport<'r> = &'r mut dyn FnMut(&'static str, Severity, String, &str);

impl Attributes {
    /// Reads the attributes of one element.
    pub(super) fn read(
        &mut self,
        tag: &Tag<'_>,
        scope: &NamespaceScope,
        reading: Reading,
        report: AttributeReport<'_>,
    ) -> Result<(), SyntaxErrorKind> {
        self.metadata.clear();
        (self.rel, self.href, self.pri) = (None, None, None);
        (self.unreadable_time, self.unreadable_length) = (false, false);
        tag.for_each_attribute(reading.most, |key, value| self.set(key, value, scope, reading, report))
    }

    fn set(
        &mut self,
        key: &str,
        value: &str,
        scope: &NamespaceScope,
        reading: Reading,
        report: AttributeReport<'_>,
    ) {
        let Some((prefix, local)) = split_prefix(key) else {
            if let Some((rule, severity)) = misplaced(key, reading.on_link) {
                let expected =
                    if reading.on_link { "an attribute of rs:ln" } else { "an attribute of rs:md" };
                report(rule, severity, format!("{key}=\"{value}\""), expected);
            }
            if key != "xmlns" && !self.set_known(key, value, false, report) {
                report(
                    "GEN-7",
                    Severity::Error,
                    format!("{key}=\"{value}\""),
                    "an attribute of Table 3, or a prefix",
                );
                self.metadata.other.push(Attribute::new("", key, value));
            }
            return;
        };
        if prefix == "xmlns" || prefix == "xml" {
            return;
        }
        match scope.resolve(prefix) {
            Some(namespace) if namespace.is_rs() => {
                report(
                    "GEN-6",
                    Severity::Error,
                    format!("{key}=\"{value}\""),
                    "the attribute without a prefix",
                );
                if reading.prefixed && !self.set_known(local, value, true, report) {
                    self.metadata.other.push(Attribute::new(namespace.uri(), local, value));
                }
            }
            namespace => {
                if namespace.is_none() {
                    let found = format!("the prefix of {key}, which is not declared");
                    report("GEN-24", Severity::Error, found, "a declaration of each prefix");
                }
                let uri = namespace.map_or(prefix, Namespace::uri);
                self.metadata.other.push(Attribute::new(uri, local, value));
            }
        }
    }

    /// Sets an attribute of Table 3 or of a draft. A `weak` one, written with a prefix, does not replace another
    /// (DIA-6).
    fn set_known(&mut self, name: &str, value: &str, weak: bool, report: AttributeReport<'_>) -> bool {
        let Self { metadata: md, unreadable_time, unreadable_length, .. } = self;
        let value = value.trim_ascii();
        let mut datetime = |name: &str, value: &str, report: AttributeReport<'_>| {
            let datetime = datetime(name, value, report);
            *unreadable_time |= datetime.is_none();
            datetime
        };
        match name {
            "capability" if value.is_empty() => {
                report("GEN-4", Severity::Error, "a blank capability".into(), "the name of a capability");
            }
            "capability" => keep(&mut md.capability, weak, || Some(Capability::parse(value))),
            "change" => keep(&mut md.change, weak, || Some(change(value, report))),
            "at" => keep(&mut md.at, weak, || datetime(name, value, report)),
            "completed" => keep(&mut md.completed, weak, || datetime(name, value, report)),
            "from" => keep(&mut md.from, weak, || datetime(name, value, report)),
            "until" => keep(&mut md.until, weak, || datetime(name, value, report)),
            "datetime" => keep(&mut md.datetime, weak, || datetime(name, value, report)),
            "modified" => keep(&mut md.modified, weak, || datetime(name, value, report)),
            "encoding" => keep(&mut md.encoding, weak, || Some(value.into())),
            "path" => keep(&mut md.path, weak, || Some(PackagePath::new(value))),
            "length" => keep(&mut md.length, weak, || {
                let length = length(value, report);
                *unreadable_length |= length.is_none();
                length
            }),
            "type" => {
                if self.last_type.as_ref().is_none_or(|last| last.as_str() != value) {
                    self.last_type = Some(media_type(value, report));
                }
                keep(&mut md.media_type, weak, || self.last_type.clone());
            }
            "hash" if weak && !md.hash.is_empty() => {}
            "hash" if value.is_empty() => {
                report("ATT-12", Severity::Error, "an empty hash".into(), "algorithm:digest");
            }
            "hash" => md.hash.read(value, &mut |error| hash_finding(&error, report)),
            "rel" => keep(&mut self.rel, weak, || (!value.is_empty()).then(|| Relation::parse(value))),
            "href" => keep(&mut self.href, weak, || (!value.is_empty()).then(|| value.to_owned())),
            "pri" => keep(&mut self.pri, weak, || pri(value, report)),
            _ => return false,
        }
        true
    }

    /// Returns the link of these attributes, with its resolved target.
    pub(super) fn take_link(&mut self, rel: Relation, href: crate::Uri) -> Link {
        let md = std::mem::take(&mut self.metadata);
        Link {
            pri: self.pri,
            encoding: md.encoding,
            hash: md.hash,
            length: md.length,
            modified: md.modified,
            path: md.path,
            media_type: md.media_type,
            other: md.other,
            ..Link::new(rel, href)
        }
    }
}

fn keep<T>(slot: &mut Option<T>, weak: bool, value: impl FnOnce() -> Option<T>) {
    if weak && slot.is_some() {
        return;
    }
    *slot = value();
}

fn change(value: &str, report: AttributeReport<'_>) -> Change {
    let change = Change::parse(value);
    if matches!(change, Change::Other(_)) {
        report("ATT-8", Severity::Error, format!("change=\"{value}\""), "created, updated or deleted");
    }
    change
}

/// Reads a datetime, or reports why it cannot be read (ATT-22); a form that §7 does not recommend is reported (ATT-23).
pub(super) fn datetime(name: &str, value: &str, report: AttributeReport<'_>) -> Option<DateTime> {
    match DateTime::read(value) {
        Ok(datetime) => {
            if !datetime.is_complete_utc() {
                report("ATT-23", Severity::Warning, format!("{name} {value}"), "YYYY-MM-DDThh:mm:ssZ");
            }
            Some(datetime)
        }
        Err(expected) => {
            report("ATT-22", Severity::Error, format!("{name} \"{value}\""), expected);
            None
        }
    }
}

fn length(value: &str, report: AttributeReport<'_>) -> Option<u64> {
    // `u64::from_str` accepts a plus sign, which Content-Length must not have.
    let length = value.parse().ok().filter(|_| value.bytes().all(|byte| byte.is_ascii_digit()));
    if length.is_none() {
        report("ATT-15", Severity::Error, format!("length=\"{value}\""), "a number of bytes");
    }
    length
}

fn media_type(value: &str, report: AttributeReport<'_>) -> MediaType {
    let media_type = MediaType::new(value);
    if !media_type.is_valid() {
        report("ATT-18", Severity::Warning, format!("type=\"{value}\""), "a media type: type/subtype");
    }
    media_type
}

fn pri(value: &str, report: AttributeReport<'_>) -> Option<u32> {
    let pri = value.parse().ok().filter(|pri| (1..=999_999).contains(pri));
    if pri.is_none() {
        report("ATT-20", Severity::Error, format!("pri=\"{value}\""), "an integer from 1 to 999999");
    }
    pri
}

fn hash_finding(error: &DigestError, report: AttributeReport<'_>) {
    let (rule, severity, expected) = match error {
        DigestError::NoAlgorithm { .. } => ("ATT-12", Severity::Error, "algorithm:digest"),
        DigestError::Length { .. } => ("ATT-13", Severity::Error, "as many digits as the algorithm gives"),
        DigestError::NotHexadecimal { .. } => ("ATT-13", Severity::Warning, "a hexadecimal digest"),
        DigestError::Spelled { .. } => ("ATT-13", Severity::Warning, "a hexadecimal digest"),
        DigestError::Repeated { .. } => ("ATT-14", Severity::Warning, "each algorithm once"),
        DigestError::UnknownAlgorithm { .. } => ("ATT-12", Severity::Info, "md5, sha-1 or sha-256"),
    };
    report(rule, severity, error.to_string(), expected);
}
