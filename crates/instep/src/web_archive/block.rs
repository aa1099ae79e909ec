//! Reads the block of a record and compares it with the digest that the record states for it.

use std::io::{self, BufRead, Read};

use instep_warc::WarcHead;

use super::digest::{DigestCheck, StatedDigest};

/// A block whose bytes are hashed as they are read, if its record states a digest of it.
///
/// Without this check, damage in files that are not compressed would go unnoticed: the digest of the payload cannot
/// always be compared.
pub(super) struct CheckedBlock<'b> {
    block: &'b mut dyn BufRead,
    check: Option<DigestCheck>,
}

impl<'b> CheckedBlock<'b> {
    pub(super) fn new(head: &WarcHead<'_>, block: &'b mut dyn BufRead) -> Self {
        let stated = head.get("WARC-Block-Digest").and_then(StatedDigest::parse);
        Self { block, check: stated.map(DigestCheck::begin) }
    }

    /// Reads the rest of the block. Returns the difference if it has another digest than its record states, and `None`
    /// if not.
    ///
    /// # Errors
    /// If the block cannot be read.
    pub(super) fn finish(mut self) -> io::Result<Option<String>> {
        io::copy(&mut self, &mut io::sink())?;
        let difference = self.check.and_then(DigestCheck::finish);
        Ok(difference.map(|difference| format!("its block has {difference}")))
    }
}

impl Read for CheckedBlock<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.block.read(buffer)?;
        if let Some(check) = &mut self.check {
            check.update(&buffer[..read]);
        }
        Ok(read)
    }
}

impl BufRead for CheckedBlock<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.block.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        if let Some(check) = &mut self.check
            && let Ok(bytes) = self.block.fill_buf()
        {
            check.update(&bytes[..amount.min(bytes.len())]);
        }
        self.block.consume(amount);
    }
}
