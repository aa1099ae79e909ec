//! A page of the stamps of files, without an allocation for each.

use super::FileStamp;

/// The rows of a page.
pub(super) const PAGE: usize = 1_024;

/// A page of rows.
#[derive(Debug, Default)]
pub(super) struct StampPage {
    pub(super) keys: Vec<u8>,
    pub(super) lines: Vec<StampLine>,
}

/// A row of a page: the place of its key, and its values.
#[derive(Clone, Copy, Debug)]
pub(super) struct StampLine {
    start: usize,
    end: usize,
    known: KnownStamp,
}

/// A file as the catalogue knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownStamp {
    /// Its stamp when it was hashed.
    pub(crate) stamp: Option<FileStamp>,
    /// `true` if it must be hashed again even if its stamp is unchanged.
    pub(crate) rehash: bool,
    /// The sets that it belongs to, as bits.
    pub(crate) sets: u64,
}

impl StampPage {
    /// Adds a row.
    pub(super) fn push(&mut self, key: &[u8], known: KnownStamp) {
        let start = self.keys.len();
        self.keys.extend_from_slice(key);
        self.lines.push(StampLine { start, end: self.keys.len(), known });
    }

    /// Returns a row with its key.
    pub(super) fn get(&self, number: usize) -> Option<(&[u8], KnownStamp)> {
        let line = self.lines.get(number)?;
        Some((&self.keys[line.start..line.end], line.known))
    }
}
