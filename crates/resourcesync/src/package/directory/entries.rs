//! The entries of a directory, one after the other.

use std::io::{self, Read, Seek};

use crate::package::{
    entry::{DirectoryEntry, ENTRY_MOST},
    records::read_at,
};

/// Bytes that are read at a time: for every entry, and for a single one.
const BLOCK: usize = 64 << 10;
const ONE: usize = 512;

/// The entries of a directory. They are read a block at a time, because other places of the file are read in between.
#[derive(Debug)]
pub(crate) struct DirectoryEntries {
    next: u64,
    end: u64,
    block: Vec<u8>,
    used: usize,
    block_size: usize,
}

impl DirectoryEntries {
    /// Reads all entries between two offsets.
    pub(crate) fn all(start: u64, end: u64) -> Self {
        Self { next: start, end, block: Vec::new(), used: 0, block_size: BLOCK }
    }

    /// Reads the entry at an offset.
    pub(crate) fn one(at: u64, end: u64) -> Self {
        Self { block_size: ONE, ..Self::all(at, end) }
    }

    /// Returns `true` if there are bytes left.
    pub(super) fn has_more(&self) -> bool {
        self.next < self.end
    }

    /// Reads the next entry and its offset; `None` if the bytes are not an entry. Reasons to refuse the package go to
    /// `refuse`.
    pub(crate) fn next<R: Read + Seek>(
        &mut self,
        source: &mut R,
        refuse: &mut dyn FnMut(&'static str, String),
    ) -> io::Result<Option<(u64, DirectoryEntry)>> {
        let mut sizes = [self.block_size, ENTRY_MOST].into_iter();
        loop {
            let mut rest = self.block.get(self.used..).unwrap_or_default();
            let before = rest.len();
            if let Some(entry) = DirectoryEntry::read(&mut rest, refuse)? {
                let (at, size) = (self.next, before - rest.len());
                self.used += size;
                self.next += size as u64;
                return Ok(Some((at, entry)));
            }
            let Some(size) = sizes.next() else { return Ok(None) };
            let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
            self.block = read_at(source, self.next, size.min(left))?;
            self.used = 0;
        }
    }
}
