//! The leading entries of a Change List as one digest, which shows if two lists have the same beginning.

use std::fmt::Write as _;

use resourcesync::{Change, Entry};
use ring::digest::{Context, SHA256};

/// A running SHA-256 over the entries of a list that were read: the resource of each, and the metadata of its bytes.
#[derive(Clone)]
pub(super) struct LeadingEntries {
    digest: Context,
    line: String,
}

impl LeadingEntries {
    pub(super) fn new() -> Self {
        Self { digest: Context::new(&SHA256), line: String::new() }
    }

    /// Adds the next entry.
    pub(super) fn add(&mut self, entry: &Entry) {
        let metadata = &entry.metadata;
        let change = metadata.change.as_ref().unwrap_or(&Change::Updated);
        self.line.clear();
        // No URI, time, change or digest contains a line break: two lists give the same text only if their entries
        // are equal.
        let _ = writeln!(self.line, "{}\n{}", entry.loc, change.as_str());
        if let Some(time) = metadata.datetime.or(entry.lastmod) {
            let _ = write!(self.line, "{time}");
        }
        let _ = writeln!(self.line, "\n{}\n{:?}", metadata.hash, metadata.length);
        self.digest.update(self.line.as_bytes());
    }

    /// Returns the digest of the entries so far.
    pub(super) fn digest(&self) -> [u8; 32] {
        let mut digest = [0; 32];
        digest.copy_from_slice(self.digest.clone().finish().as_ref());
        digest
    }
}

impl std::fmt::Debug for LeadingEntries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LeadingEntries").finish_non_exhaustive()
    }
}
