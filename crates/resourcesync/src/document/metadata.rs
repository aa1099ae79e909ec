//! The metadata of documents and entries.

use crate::value::{Capability, Change, DateTime, Digest, Digests, MediaType, PackagePath};

/// An `rs:md` element with the attributes of Table 3, under the root or in an entry (§7).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metadata {
    /// The capability of the document, or of the document that the entry leads to (GEN-4, ATT-7).
    pub capability: Option<Capability>,
    /// The start of the snapshot (TIME-3).
    pub at: Option<DateTime>,
    /// The end of the snapshot (TIME-4).
    pub completed: Option<DateTime>,
    /// The start of the interval of changes (TIME-5).
    pub from: Option<DateTime>,
    /// The end of the interval of changes; a document that has it is closed (TIME-6).
    pub until: Option<DateTime>,
    /// The type of change (ATT-8).
    pub change: Option<Change>,
    /// The time of the change (ATT-9).
    pub datetime: Option<DateTime>,
    /// The content coding of the representation (ATT-11).
    pub encoding: Option<Box<str>>,
    /// The digests of the representation (ATT-12).
    pub hash: Digests,
    /// The length of the representation in bytes (ATT-15).
    pub length: Option<u64>,
    /// The path of the bitstream in its package (ATT-16).
    pub path: Option<PackagePath>,
    /// The media type of the representation (ATT-18).
    pub media_type: Option<MediaType>,
    /// The time of the last modification, on the root in drafts before 0.9 (DIA-2).
    pub modified: Option<DateTime>,
    /// Attributes outside Table 3, kept as written (GEN-7, GEN-8).
    pub other: Vec<Attribute>,
}

impl Metadata {
    /// Creates an element without attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an element with a capability.
    pub fn with_capability(capability: Capability) -> Self {
        Self { capability: Some(capability), ..Self::default() }
    }

    /// Returns the strongest digest that can be verified here.
    pub fn strongest_digest(&self) -> Option<&Digest> {
        self.hash.strongest()
    }

    /// Removes every attribute and keeps the buffers.
    pub fn clear(&mut self) {
        let mut hash = std::mem::take(&mut self.hash);
        let mut other = std::mem::take(&mut self.other);
        hash.clear();
        other.clear();
        *self = Self { hash, other, ..Self::default() };
    }
}

/// An attribute outside Table 3.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attribute {
    /// The URI of the namespace; empty if there is none.
    pub namespace: Box<str>,
    /// The local name.
    pub name: Box<str>,
    /// The value.
    pub value: Box<str>,
}

impl Attribute {
    /// Creates an attribute.
    pub fn new(namespace: &str, name: &str, value: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into(), value: value.into() }
    }
}
