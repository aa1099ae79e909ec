//! A reader for tests: a signal interrupts its first read.

use std::io::{self, BufRead, Read};

/// Bytes whose first read is interrupted, as by a signal.
pub(crate) struct InterruptedBytes<'b> {
    bytes: &'b [u8],
    was_interrupted: bool,
}

impl<'b> InterruptedBytes<'b> {
    /// Returns a reader of bytes that is not interrupted yet.
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, was_interrupted: false }
    }
}

impl Read for InterruptedBytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for InterruptedBytes<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if std::mem::replace(&mut self.was_interrupted, true) {
            Ok(self.bytes)
        } else {
            Err(io::ErrorKind::Interrupted.into())
        }
    }

    fn consume(&mut self, bytes: usize) {
        self.bytes = &self.bytes[bytes..];
    }
}
