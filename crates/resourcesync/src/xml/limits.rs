//! Limits of reading.

use crate::{
    document::{Form, Header},
    value::Capability,
};

/// Limits of what a reader accepts; it refuses a document that exceeds one (GEN-26).
///
/// Entries of lists of resources and changes are streamed, so their number is bounded only against documents without
/// end. Documents that lead to others are held as a whole by their readers, so they have limits of their own: at these a
/// reader that keeps every entry stays below 96 MB.
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

impl Limits {
    /// Returns the number of entries that a document with this header may have.
    pub(super) fn entries_of(&self, header: &Header) -> u64 {
        let most = match (header.form, header.capability()) {
            (Form::Index, _) => self.members,
            (Form::List, Some(Capability::CapabilityList)) => self.capabilities,
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
            ) => self.members,
            (Form::List, _) => self.entries,
        };
        most.min(self.entries)
    }
}
