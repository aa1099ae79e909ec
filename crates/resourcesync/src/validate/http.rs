//! Responses of servers, compared with the documents that describe them (ATT-11, ATT-15, RD-6, ZIP-9).

use crate::{
    discovery::HeaderLink,
    document::{Entry, Metadata},
    finding::{Finding, Position, Severity},
    value::{Digest, Digests, MediaType, Relation, Uri},
};

/// The response to a request for a resource or package, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpAnswer {
    /// The status code.
    pub status: u16,
    /// `Content-Length`.
    pub content_length: Option<u64>,
    /// `Content-Encoding`.
    pub content_encoding: Option<String>,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// Digests of the body as it was transferred, if it was read.
    pub digests: Digests,
    /// Digests of the body after its content coding was removed, if it was read and had one. The standard does not say
    /// which of the two bodies a `hash` describes, so either may match.
    pub decoded: Digests,
    /// `true` if the body begins like a ZIP file; `None` if it was not read.
    pub is_zip: Option<bool>,
}

impl HttpAnswer {
    /// Creates a response with only a status.
    pub fn new(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    /// Compares a response with the entry that led to it. `package` is the rule that requires a package: `RD-6` or
    /// `CD-7`.
    pub fn check(
        &self,
        metadata: &Metadata,
        position: Position,
        package: Option<&'static str>,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |rule, severity, found: String, expected: String| {
            findings.push(Finding::new(rule, severity, position, found, expected));
        };
        if !(200..300).contains(&self.status) {
            add(
                package.unwrap_or("GEN-14"),
                Severity::Error,
                format!("HTTP status {}", self.status),
                "200".into(),
            );
            return findings;
        }
        let coded = |encoding: Option<&str>| {
            encoding.filter(|encoding| *encoding != "identity").map(str::to_ascii_lowercase)
        };
        let (said, sent) = (coded(metadata.encoding.as_deref()), coded(self.content_encoding.as_deref()));
        if said != sent && (metadata.encoding.is_some() || self.content_encoding.is_some()) {
            let name = |encoding: Option<String>| encoding.unwrap_or_else(|| "none".into());
            add("ATT-11", Severity::Warning, format!("Content-Encoding {}", name(sent)), name(said));
        }
        if let (Some(said), Some(sent)) = (metadata.length, self.content_length)
            && said != sent
        {
            add("ATT-15", Severity::Warning, format!("Content-Length {sent}"), format!("length {said}"));
        }
        if let (Some(said), Some(sent)) = (&metadata.media_type, &self.content_type)
            && !said.is_same(&MediaType::new(sent))
        {
            add("ATT-18", Severity::Info, format!("Content-Type {sent}"), format!("type {said}"));
        }
        for said in metadata.hash.verifiable() {
            let differs = |sent: &&Digest| sent.bytes() != said.bytes();
            let decoded = self.decoded.get(&said.algorithm).is_some_and(|sent| sent.bytes() == said.bytes());
            if let Some(sent) = self.digests.get(&said.algorithm).filter(differs).filter(|_| !decoded) {
                let rule = if package.is_some() { "ZIP-9" } else { "ATT-13" };
                add(rule, Severity::Error, format!("a body with {sent}"), format!("{said}"));
            }
        }
        if let (Some(rule), Some(false)) = (package, self.is_zip) {
            add(rule, Severity::Error, "a body that is not a ZIP file".into(), "a package".into());
            add(
                "ZIP-1",
                Severity::Info,
                "a body that is not a ZIP file".into(),
                "a body that begins with PK".into(),
            );
        }
        findings
    }
}

/// Checks that topic and hub of a channel can be found: in the `Link` fields of its topic, or in the links of its entry
/// (CN-4).
pub fn check_channel(topic: &Uri, fields: &[HeaderLink], entry: &Entry) -> Vec<Finding> {
    let named = |rel: &Relation| fields.iter().any(|link| link.is(rel, topic));
    let mut findings = Vec::new();
    if !named(&Relation::Hub) && entry.link_for(&Relation::Hub).is_none() {
        findings.push(Finding::of("CN-4", entry.position, "a channel without hub", "a link rel=\"hub\""));
    }
    if !named(&Relation::Itself) && !fields.is_empty() {
        findings.push(Finding::of("CN-4", entry.position, "a channel without topic", "a link rel=\"self\""));
    }
    findings
}
