//! The block of a record, compared with the digest that the record states for it.

use std::io::{self, BufRead, Read};

use instep_warc::{PayloadDigest, PayloadHasher, WarcHead};

/// A block whose bytes are hashed as they are read, if its record states a digest of it.
///
/// Files that are not compressed have no other protection, and the digest of the payload is not always comparable.
pub(super) struct CheckedBlock<'b> {
    block: &'b mut dyn BufRead,
    check: Option<(PayloadDigest, PayloadHasher)>,
}

impl<'b> CheckedBlock<'b> {
    pub(super) fn new(head: &WarcHead<'_>, block: &'b mut dyn BufRead) -> Self {
        let stated = head.get("WARC-Block-Digest").and_then(PayloadDigest::parse);
        Self { block, check: stated.map(|stated| (stated, PayloadHasher::default())) }
    }

    /// Reads the rest. Returns the difference if the block has another digest than its record states.
    ///
    /// # Errors
    /// If the block cannot be read.
    pub(super) fn finish(mut self) -> io::Result<Option<String>> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(self.check.and_then(|(stated, hasher)| {
            let found = hasher.finish();
            (found != stated).then(|| format!("its block has the digest {found} instead of {stated}"))
        }))
    }
}

impl Read for CheckedBlock<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.block.read(buffer)?;
        if let Some((_, hasher)) = &mut self.check {
            hasher.update(&buffer[..read]);
        }
        Ok(read)
    }
}

impl BufRead for CheckedBlock<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.block.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        if let Some((_, hasher)) = &mut self.check
            && let Ok(bytes) = self.block.fill_buf()
        {
            hasher.update(&bytes[..amount.min(bytes.len())]);
        }
        self.block.consume(amount);
    }
}
