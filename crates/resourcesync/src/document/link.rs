mod json;

use super::Attribute;
use crate::value::{DateTime, Digests, MediaType, PackagePath, Relation, Uri};

/// The `rs:ln` element: a link with the attributes of Table 3 that describe its target (GEN-20, ATT-19).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// How the target is related.
    pub rel: Relation,
    /// The target.
    pub href: Uri,
    /// Preference among links of the same relation, 1 to 999,999, smaller first (ATT-20).
    pub pri: Option<u32>,
    /// Content coding of the target.
    pub encoding: Option<Box<str>>,
    /// Digests of the target.
    pub hash: Digests,
    /// Bytes of the target.
    pub length: Option<u64>,
    /// Last modification of the target.
    pub modified: Option<DateTime>,
    /// Where the target lies in the package (CDM-11).
    pub path: Option<PackagePath>,
    /// Media type of the target.
    pub media_type: Option<MediaType>,
    /// Attributes outside Table 3, kept as written.
    pub other: Vec<Attribute>,
}

impl Link {
    /// The preference of a link that states none (ATT-20).
    pub const LEAST_PREFERRED: u32 = 999_999;

    /// A link without further attributes.
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

    /// Its preference, whether stated or not.
    pub fn preference(&self) -> u32 {
        self.pri.unwrap_or(Self::LEAST_PREFERRED)
    }
}
