use crate::value::{Capability, Change, DateTime, Digest, Digests, MediaType, PackagePath};

/// The `rs:md` element: all attributes of Table 3 that may stand on it (§7), under the root and in an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metadata {
    /// What the document is, or what the entry leads to (GEN-4, ATT-7).
    pub capability: Option<Capability>,
    /// Start of the snapshot (TIME-3).
    pub at: Option<DateTime>,
    /// End of the snapshot (TIME-4).
    pub completed: Option<DateTime>,
    /// Start of the interval of changes (TIME-5).
    pub from: Option<DateTime>,
    /// End of the interval of changes; with it the document is closed (TIME-6).
    pub until: Option<DateTime>,
    /// What happened (ATT-8).
    pub change: Option<Change>,
    /// When it happened (ATT-9).
    pub datetime: Option<DateTime>,
    /// Content coding of the representation (ATT-11).
    pub encoding: Option<Box<str>>,
    /// Digests (ATT-12).
    pub hash: Digests,
    /// Bytes (ATT-15).
    pub length: Option<u64>,
    /// Where the bitstream lies in its package (ATT-16).
    pub path: Option<PackagePath>,
    /// Media type (ATT-18).
    pub media_type: Option<MediaType>,
    /// Last modification, on the root in drafts before 0.9 (DIA-2).
    pub modified: Option<DateTime>,
    /// Attributes outside Table 3, kept as written (GEN-7, GEN-8).
    pub other: Vec<Attribute>,
}

impl Metadata {
    /// Without any attribute.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a capability.
    pub fn with_capability(capability: Capability) -> Self {
        Self { capability: Some(capability), ..Self::default() }
    }

    /// The strongest digest that can be verified here.
    pub fn strongest_digest(&self) -> Option<&Digest> {
        self.hash.strongest()
    }

    /// Takes every attribute away, keeping buffers.
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
    /// The URI of its namespace; empty where it has none.
    pub namespace: Box<str>,
    /// Its local name.
    pub name: Box<str>,
    /// Its value.
    pub value: Box<str>,
}

impl Attribute {
    /// An attribute.
    pub fn new(namespace: &str, name: &str, value: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into(), value: value.into() }
    }
}
