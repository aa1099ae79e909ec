//! Limits of reading.

use crate::{
    document::{Form, Header},
    value::Capability,
};

/// Limits of a reader; it refuses a document that exceeds one (GEN-26).
///
/// Entries of lists of resources and changes are streamed, so their number is bounded only against endless documents.
/// Documents that lead to others are held in memory by their readers, so they have separate limits: beside those
/// below, as many links in all as entries, and 48 MiB. At these limits a reader that keeps every entry needs 96 MB:
/// 25 MB for 50,000 entries without links, 22 MB for their links, and the text itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Elements within elements; 16.
    pub depth: usize,
    /// Attributes of one element; 64.
    pub attributes: usize,
    /// Bytes of one tag, text or comment; 64 KiB.
    pub token_bytes: u64,
    /// Entries of one document; 5,000,000.
    pub entries: u64,
    /// Entries of a document that leads to documents or packages: Source Description, index, dump, archive; 50,000, the
    /// limit of the Sitemap protocol (GEN-12).
    pub members: u64,
    /// Entries of a Capability List, which has one for each capability (CAP-8); 1,000.
    pub capabilities: u64,
    /// Links of one entry, or of the root; 100. Further ones are ignored and leave a finding.
    pub links: usize,
    /// Bytes of one document, decoded; 1 GiB.
    pub bytes: u64,
    /// Findings kept until they are taken; 1,000. Further ones are counted.
    pub findings: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 16,
            attributes: 64,
            token_bytes: 64 << 10,
            entries: 5_000_000,
            members: 50_000,
            capabilities: 1_000,
            links: 100,
            bytes: 1 << 30,
            findings: 1_000,
        }
    }
}

/// The limits of one document, by its kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct KindLimits {
    pub(super) entries: u64,
    /// Links of the root and of all entries together.
    pub(super) links: u64,
    pub(super) bytes: u64,
}

/// Bytes of a document that leads to others: nearly the 50 MB of the Sitemap protocol (GEN-12).
const LEADING_BYTES: u64 = 48 << 20;

impl Limits {
    /// Returns the limits of a document with this header.
    pub(super) fn of(&self, header: &Header) -> KindLimits {
        let leading = |entries: u64| KindLimits {
            entries: entries.min(self.entries),
            links: self.members,
            bytes: self.bytes.min(LEADING_BYTES),
        };
        match (header.form, header.capability()) {
            (Form::Index, _) => leading(self.members),
            (Form::List, Some(Capability::CapabilityList)) => leading(self.capabilities),
            (
                Form::List,
                Some(
                    Capability::Description
                    | Capability::ResourceDump
                    | Capability::ChangeDump
                    | Capability::ResourceListArchive
                    | Capability::ResourceDumpArchive
                    | Capability::ChangeListArchive
                    | Capability::ChangeDumpArchive,
                ),
            ) => leading(self.members),
            (Form::List, _) => KindLimits { entries: self.entries, links: u64::MAX, bytes: self.bytes },
        }
    }
}
