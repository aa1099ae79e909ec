//! Heads of records: kind, identity, and named fields (WARC 1.1 §4, §5).

use std::{borrow::Cow, fmt, io::Write as _};

/// The profile of a revisit whose payload is that of an earlier record (WARC 1.1 §6.7.2).
pub const IDENTICAL_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
/// The profile of a revisit that the server answered with 304 (WARC 1.1 §6.7.3).
pub const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// The kind of a record (WARC 1.1 §6).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WarcKind {
    /// About the file.
    Warcinfo,
    /// The answer of a server, as HTTP has it.
    Response,
    /// The request that was answered.
    Request,
    /// A resource without the protocol of its transfer.
    Resource,
    /// A visit that found the body of an earlier record.
    Revisit,
    /// Another value that WARC defines or that is not known here.
    Other(Box<str>),
}

impl WarcKind {
    /// Returns its name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Warcinfo => "warcinfo",
            Self::Response => "response",
            Self::Request => "request",
            Self::Resource => "resource",
            Self::Revisit => "revisit",
            Self::Other(name) => name,
        }
    }

    fn parse(name: &str) -> Self {
        let known = [Self::Warcinfo, Self::Response, Self::Request, Self::Resource, Self::Revisit];
        let known = known.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(name));
        known.unwrap_or_else(|| Self::Other(name.into()))
    }
}

/// The head of a record, without the length of its block, which the writer of the block adds. One that is written borrows its
/// values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WarcHead<'a> {
    /// The kind.
    pub kind: WarcKind,
    /// The fields in their order, without `WARC-Type` and `Content-Length`. Names keep the case they were written in.
    pub fields: Vec<WarcField<'a>>,
}

/// A field: its name and its value.
pub type WarcField<'a> = (Cow<'static, str>, Cow<'a, str>);

impl<'a> WarcHead<'a> {
    /// Returns a head with the fields that every record has: its id, `<urn:uuid:...>`, and its date in UTC.
    pub fn new(kind: WarcKind, id: &'a str, date: &'a str) -> Self {
        Self { kind, fields: Vec::with_capacity(8) }.with("WARC-Record-ID", id).with("WARC-Date", date)
    }

    pub(crate) fn of_fields(mut fields: Vec<WarcField<'a>>) -> Self {
        let name = |name: &str| name.eq_ignore_ascii_case("WARC-Type");
        let kind = fields.iter().find(|(field, _)| name(field)).map_or("", |(_, value)| &**value);
        let kind = WarcKind::parse(kind);
        fields.retain(|(field, _)| !name(field) && !field.eq_ignore_ascii_case("Content-Length"));
        Self { kind, fields }
    }

    /// Adds a field. Line ends in its value become spaces.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &'a str) -> Self {
        let value = if memchr::memchr2(b'\r', b'\n', value.as_bytes()).is_some() {
            value.replace(['\r', '\n'], " ").into()
        } else {
            value.into()
        };
        self.fields.push((name.into(), value));
        self
    }

    /// Returns the value of a field; the case of its name does not matter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// Returns the values of a field that may be repeated.
    pub fn all<'h>(&'h self, name: &'h str) -> impl Iterator<Item = &'h str> {
        self.fields
            .iter()
            .filter(move |(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| &**value)
    }

    /// Returns the URI of the recorded resource, without the angle brackets of WARC 1.0.
    pub fn target(&self) -> Option<&str> {
        let uri = self.get("WARC-Target-URI")?;
        Some(uri.strip_prefix('<').and_then(|uri| uri.strip_suffix('>')).unwrap_or(uri))
    }

    /// Returns the date as it is written.
    pub fn date(&self) -> Option<&str> {
        self.get("WARC-Date")
    }

    pub(crate) fn write(&self, length: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(b"WARC/1.1\r\nWARC-Type: ");
        out.extend_from_slice(self.kind.as_str().as_bytes());
        for (name, value) in &self.fields {
            for part in ["\r\n", &**name, ": ", &**value] {
                out.extend_from_slice(part.as_bytes());
            }
        }
        // Writing to memory does not fail.
        let _ = write!(out, "\r\nContent-Length: {length}\r\n\r\n");
    }
}

impl fmt::Display for WarcKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
