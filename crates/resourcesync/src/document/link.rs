//! Links of documents and entries.

mod json;

use super::Attribute;
use crate::value::{DateTime, Digests, MediaType, PackagePath, Relation, Uri};

/// An `rs:ln` element: a link with the attributes of Table 3 that describe its target (GEN-20, ATT-19).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// The relation of the target.
    pub rel: Relation,
    /// The URI of the target.
    pub href: Uri,
    /// Preference among links of the same relation, 1 to 999,999, smaller first (ATT-20).
    pub pri: Option<u32>,
    /// The content coding of the target.
    pub encoding: Option<Box<str>>,
    /// The digests of the target.
    pub hash: Digests,
    /// The length of the target in bytes.
    pub length: Option<u64>,
    /// The time of the target's last modification.
    pub modified: Option<DateTime>,
    /// The path of the target in the package (CDM-11).
    pub path: Option<PackagePath>,
    /// The media type of the target.
    pub media_type: Option<MediaType>,
    /// Attributes outside Table 3, kept as written.
    pub other: Vec<Attribute>,
}

impl Link {
    /// The preference of a link that states none (ATT-20).
    pub const LEAST_PREFERRED: u32 = 999_999;

    /// Creates a link without further attributes.
    pub fn new(rel: Relation, href: Uri) -> Self {
        Self {
            rel,
            href,
            pri: None,
            encoding: None,
            hash: Digests::new(),
            length: None,
            modified: None,
            path: None,
            media_type: None,
            other: Vec::new(),
        }
    }

    /// Sets the media type of the target (LN-7, LN-9).
    #[must_use]
    pub fn with_media_type(mut self, media_type: MediaType) -> Self {
        self.media_type = Some(media_type);
        self
    }

    /// Returns the preference, stated or not.
    pub fn preference(&self) -> u32 {
        self.pri.unwrap_or(Self::LEAST_PREFERRED)
    }
}
