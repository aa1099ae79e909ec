//! Values that a document cannot carry: a reader would refuse the document, or read another value than was written.
//!
//! Two questions are kept apart. A document must always be well-formed and within the limits of a reader, also when the
//! rules of the standard are not checked. When they are, each value must also be read back as it was written.

use std::collections::BTreeSet;

use super::{
    limits::Limits,
    name::is_name,
    names::{Namespace, SITEMAP},
};
use crate::{
    dialect::Dialect,
    document::{Attribute, Entry, Header, Link, Metadata},
    error::WriteError,
    value::{Capability, Change, DateTime, DigestValue, Digests, Relation},
};

/// Attributes outside Table 3 that one element may have. With the known ones they stay below the limit of a reader.
const FOREIGN: usize = 20;
/// Bytes of one line, which holds one tag. A reader takes 64 KiB.
const LINE: usize = 60 << 10;

fn refuse<T>(rule: &'static str, what: impl Into<String>) -> Result<T, WriteError> {
    Err(WriteError::Rule { rule, what: what.into() })
}

/// Refuses text that is not XML, or is larger than a reader takes.
pub(super) fn check_text(text: &[u8]) -> Result<(), WriteError> {
    if let Some(offset) = super::window::first_forbidden(text) {
        let character = String::from_utf8_lossy(&text[offset..]).chars().next().unwrap_or_default();
        return refuse(
            "GEN-24",
            format!("The character U+{:04X} is not allowed in XML", u32::from(character)),
        );
    }
    if text.len() > LINE && text.split(|byte| *byte == b'\n').any(|line| line.len() > LINE) {
        return refuse("GEN-26", format!("A tag of more than {LINE} bytes"));
    }
    Ok(())
}

/// Refuses attributes that cannot be written in their own namespace.
pub(super) fn check_names<'a>(elements: impl IntoIterator<Item = &'a [Attribute]>) -> Result<(), WriteError> {
    for attributes in elements.into_iter().filter(|attributes| !attributes.is_empty()) {
        if attributes.len() > FOREIGN {
            return refuse("GEN-26", format!("More than {FOREIGN} attributes of a community's own"));
        }
        let mut names = BTreeSet::new();
        for attribute in attributes {
            let Attribute { namespace, name, .. } = attribute;
            if !is_name(name) {
                return refuse("GEN-24", format!("{name:?} cannot name an attribute"));
            }
            if matches!(
                &**namespace,
                "http://www.w3.org/XML/1998/namespace" | "http://www.w3.org/2000/xmlns/"
            ) {
                return refuse("GEN-24", format!("The namespace {namespace} belongs to XML itself"));
            }
            if !names.insert((namespace, name)) {
                return refuse("GEN-24", format!("The attribute {name} of {namespace} occurs twice"));
            }
        }
    }
    Ok(())
}

/// Returns the attributes outside Table 3 of each element of a header.
pub(super) fn header_attributes(header: &Header) -> impl Iterator<Item = &[Attribute]> {
    let links = header.links.iter().map(|link| &link.other[..]);
    header.metadata.iter().map(|md| &md.other[..]).chain(links)
}

/// Returns the attributes outside Table 3 of each element of an entry.
pub(super) fn entry_attributes(entry: &Entry) -> impl Iterator<Item = &[Attribute]> {
    let links = entry.links.iter().map(|link| &link.other[..]);
    std::iter::once(&entry.metadata.other[..]).chain(links)
}

/// Refuses a header that would be read otherwise than it is.
pub(super) fn check_header(header: &Header) -> Result<(), WriteError> {
    header.metadata.iter().try_for_each(check_metadata)?;
    check_links(&header.links)?;
    // A reader would translate a header that looks like one of a draft.
    match Dialect::of(header, false) {
        Dialect::Current | Dialect::PlainSitemap => Ok(()),
        draft => refuse("DIA-1", format!("The header would be read as that of another version: {draft}")),
    }
}

/// Refuses an entry that would be read otherwise than it is.
pub(super) fn check_entry(entry: &Entry) -> Result<(), WriteError> {
    check_time(entry.lastmod)?;
    if let Some(priority) = &entry.priority {
        check_value("priority", priority)?;
    }
    check_metadata(&entry.metadata)?;
    check_links(&entry.links)
}

fn check_links(links: &[Link]) -> Result<(), WriteError> {
    let most = Limits::default().links;
    if links.len() > most {
        return refuse("GEN-26", format!("More than {most} links, which readers ignore"));
    }
    links.iter().try_for_each(check_link)
}

fn check_metadata(md: &Metadata) -> Result<(), WriteError> {
    let times = [md.at, md.completed, md.from, md.until, md.datetime, md.modified];
    times.into_iter().try_for_each(check_time)?;
    if let Some(Capability::Other(name)) = &md.capability {
        let of_a_draft = matches!(&**name, "resourcesync" | "resource-list");
        let same = !name.is_empty() && !of_a_draft && matches!(Capability::parse(name), Capability::Other(_));
        check_open(same, "capability", name)?;
    }
    if let Some(Change::Other(name)) = &md.change {
        check_open(matches!(Change::parse(name), Change::Other(_)), "change", name)?;
    }
    let texts = [
        ("encoding", md.encoding.as_deref()),
        ("path", md.path.as_ref().map(|path| path.as_str())),
        ("type", md.media_type.as_ref().map(|media_type| media_type.as_str())),
    ];
    check_values(texts)?;
    check_digests(&md.hash)?;
    check_foreign(&md.other)
}

fn check_link(link: &Link) -> Result<(), WriteError> {
    check_time(link.modified)?;
    if link.pri.is_some_and(|pri| !(1..=Link::LEAST_PREFERRED).contains(&pri)) {
        return refuse("ATT-20", format!("pri must be 1 to 999999: {}", link.href));
    }
    if link.href.as_str().is_empty() {
        return refuse("GEN-20", format!("A link rel=\"{}\" without href", link.rel));
    }
    if let Relation::Other(name) = &link.rel {
        let same = !name.is_empty() && matches!(Relation::parse(name), Relation::Other(_));
        check_open(same, "rel", name)?;
    }
    let texts = [
        ("encoding", link.encoding.as_deref()),
        ("path", link.path.as_ref().map(|path| path.as_str())),
        ("type", link.media_type.as_ref().map(|media_type| media_type.as_str())),
    ];
    check_values(texts)?;
    check_digests(&link.hash)?;
    check_foreign(&link.other)
}

fn check_time(time: Option<DateTime>) -> Result<(), WriteError> {
    match time.filter(|time| !time.has_w3c_form()) {
        Some(time) => refuse("ATT-22", format!("{time} is not in the years 0000 to 9999")),
        None => Ok(()),
    }
}

/// Checks a value that has variants for the names known here.
fn check_open(same: bool, name: &str, value: &str) -> Result<(), WriteError> {
    check_value(name, value)?;
    if same { Ok(()) } else { refuse("GEN-24", format!("{name}=\"{value}\" would be read as another value")) }
}

fn check_values<const N: usize>(values: [(&str, Option<&str>); N]) -> Result<(), WriteError> {
    values
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .try_for_each(|(name, value)| check_value(name, value))
}

/// Refuses a value with white space at its ends, because a reader trims values.
fn check_value(name: &str, value: &str) -> Result<(), WriteError> {
    if value.trim_ascii().len() == value.len() {
        Ok(())
    } else {
        refuse("GEN-24", format!("{name} {value:?} begins or ends with white space"))
    }
}

/// Refuses digests that would be read back as others: those of unknown algorithms whose text is not a single item.
fn check_digests(hash: &Digests) -> Result<(), WriteError> {
    let plain = |digest: &crate::value::Digest| match &digest.value {
        DigestValue::Bytes(bytes) => digest.algorithm.digest_bytes() == Some(bytes.as_slice().len()),
        DigestValue::Opaque(_) => false,
    };
    if hash.iter().all(plain) || Digests::parse(&hash.to_string(), |_| {}) == *hash {
        return Ok(());
    }
    refuse("ATT-12", format!("hash {:?} would be read as another value", hash.to_string()))
}

fn check_foreign(other: &[Attribute]) -> Result<(), WriteError> {
    for Attribute { namespace, name, .. } in other {
        if Namespace::of(namespace).is_rs() {
            return refuse("GEN-6", format!("The attribute {name} in the namespace of ResourceSync"));
        }
        if namespace.is_empty() || namespace.trim() != &**namespace || &**namespace == SITEMAP {
            return refuse("GEN-7", format!("The attribute {name} in the namespace {namespace:?}"));
        }
    }
    Ok(())
}
