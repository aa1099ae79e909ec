//! The writer: one gzip member for each record (WARC 1.1 Annex D), so that a reader can begin at any of them.

use std::{
    fmt,
    io::{self, Read, Write},
};

use crc32fast::Hasher;
use flate2::{Compress, Compression, FlushCompress};

use crate::head::WarcHead;

/// The number of bytes that are read and compressed at a time.
const STEP: usize = 64 << 10;

/// The number of bytes of finished records from which on they are written to the sink.
const TOGETHER: usize = 256 << 10;

/// Records with at most this many bytes are stored with any packing: compressing one costs more time than it saves
/// space.
const SMALL: u64 = 1_024;

/// The most bytes of a stored block (RFC 1951 §3.2.4).
const STORED: u64 = u16::MAX as u64;

/// Two line ends after each block (WARC 1.1 §4).
const END: &[u8] = b"\r\n\r\n";

/// The place of a record in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenRecord {
    /// The first byte of its gzip member.
    pub offset: u64,
    /// The bytes of its gzip member.
    pub length: u64,
}

/// The form of a record in its gzip member. Every reader takes both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordPacking {
    /// Compressed.
    Compressed,
    /// As it is, for bytes that do not get smaller.
    Stored,
}

/// Writes records to the end of a file. All records share one compressor, because creating one takes longer than
/// compressing a small record. The sink gets many small records together, so it needs no buffer of its own; the last ones
/// with [`flush`](Self::flush).
pub struct WarcWriter<W> {
    out: W,
    /// The bytes that the sink has.
    written: u64,
    compress: Compress,
    /// The CRC-32 of the present member, computed with the processor's own instructions, which flate2 does not use.
    crc: Hasher,
    /// The bytes of the present member, modulo 2^32.
    amount: u32,
    /// The bytes that the sink has not: finished members, and the present one.
    waiting: Vec<u8>,
    start: Vec<u8>,
    block: Vec<u8>,
}

impl<W: Write> WarcWriter<W> {
    /// Returns a writer for the end of a file that has `offset` bytes.
    pub fn new(out: W, offset: u64) -> Self {
        let compress = Compress::new(Compression::fast(), false);
        let (waiting, start, block) = (Vec::new(), Vec::new(), Vec::new());
        Self { out, written: offset, compress, crc: Hasher::new(), amount: 0, waiting, start, block }
    }

    /// Writes a record whose block has `length` bytes.
    ///
    /// # Errors
    /// If the block has another length, or writing fails. Then the file may end within the record.
    pub fn write(
        &mut self,
        head: &WarcHead<'_>,
        length: u64,
        block: &mut dyn Read,
        packing: RecordPacking,
    ) -> io::Result<WrittenRecord> {
        let offset = self.offset();
        (self.crc, self.amount) = (Hasher::new(), 0);
        // No name, no time, no system: the same records are the same bytes.
        self.waiting.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
        let mut start = std::mem::take(&mut self.start);
        start.clear();
        head.write(length, &mut start);
        let all = start.len() as u64 + length + END.len() as u64;
        match packing {
            RecordPacking::Compressed if all > SMALL => self.compress(&start, length, block)?,
            _ => self.store(&mut start.chain(block.take(length)).chain(END), all)?,
        }
        self.start = start;
        self.end(offset)
    }

    /// Writes a gzip member that has been a record of another file.
    ///
    /// # Errors
    /// If writing fails.
    pub fn append(&mut self, member: &[u8]) -> io::Result<()> {
        self.waiting.extend_from_slice(member);
        self.put_many()
    }

    fn compress(&mut self, start: &[u8], length: u64, block: &mut dyn Read) -> io::Result<()> {
        self.compress.reset();
        self.deflate(start, FlushCompress::None)?;
        let mut text = std::mem::take(&mut self.block);
        text.resize(STEP, 0);
        let mut left = length;
        while left > 0 {
            let most = usize::try_from(left).map_or(STEP, |left| left.min(STEP));
            let read = match block.read(&mut text[..most]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                return Err(too_short());
            }
            self.deflate(&text[..read], FlushCompress::None)?;
            left -= read as u64;
        }
        self.block = text;
        self.deflate(END, FlushCompress::Finish)
    }

    /// Writes a record of `left` bytes in blocks that are not compressed.
    fn store(&mut self, record: &mut dyn Read, mut left: u64) -> io::Result<()> {
        while left > 0 {
            let most = left.min(STORED);
            left -= most;
            let size = most as u16;
            self.waiting.push(u8::from(left == 0));
            self.waiting.extend_from_slice(&size.to_le_bytes());
            self.waiting.extend_from_slice(&(!size).to_le_bytes());
            let begin = self.waiting.len();
            self.waiting.resize(begin + usize::from(size), 0);
            record.read_exact(&mut self.waiting[begin..]).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => too_short(),
                _ => error,
            })?;
            self.crc.update(&self.waiting[begin..]);
            self.amount = self.amount.wrapping_add(size.into());
            self.put_many()?;
        }
        Ok(())
    }

    /// Ends a member with its check sum and its length.
    fn end(&mut self, offset: u64) -> io::Result<WrittenRecord> {
        self.waiting.extend_from_slice(&std::mem::take(&mut self.crc).finalize().to_le_bytes());
        // The length modulo 2^32 (RFC 1952 §2.3.1).
        self.waiting.extend_from_slice(&self.amount.to_le_bytes());
        self.put_many()?;
        Ok(WrittenRecord { offset, length: self.offset() - offset })
    }

    fn deflate(&mut self, mut input: &[u8], flush: FlushCompress) -> io::Result<()> {
        self.crc.update(input);
        self.amount = self.amount.wrapping_add(input.len() as u32);
        loop {
            let before = self.compress.total_in();
            self.waiting.reserve(STEP / 2);
            let status = self.compress.compress_vec(input, &mut self.waiting, flush)?;
            input = &input[(self.compress.total_in() - before) as usize..];
            self.put_many()?;
            let is_done = match flush {
                FlushCompress::Finish => status == flate2::Status::StreamEnd,
                _ => input.is_empty(),
            };
            if is_done {
                return Ok(());
            }
        }
    }

    fn put_many(&mut self) -> io::Result<()> {
        if self.waiting.len() >= TOGETHER { self.put() } else { Ok(()) }
    }

    fn put(&mut self) -> io::Result<()> {
        self.out.write_all(&self.waiting)?;
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Writes the records that wait to the sink, and flushes it.
    ///
    /// # Errors
    /// If that fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.put()?;
        self.out.flush()
    }

    /// Returns the number of bytes that the file has, with the records that wait.
    pub fn offset(&self) -> u64 {
        self.written + self.waiting.len() as u64
    }

    /// Returns the sink, which lacks the records that wait.
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// Writes the records that wait, and returns the sink.
    ///
    /// # Errors
    /// If that fails.
    pub fn into_inner(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.out)
    }
}

fn too_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the block is shorter than announced")
}

impl<W> fmt::Debug for WarcWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WarcWriter").field("written", &self.written).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{WarcKind, WarcReader, interrupted::InterruptedBytes};

    #[test]
    fn o689_a_record_whose_block_a_signal_interrupts_is_written() {
        let text = "text ".repeat(1_000);
        for packing in [RecordPacking::Compressed, RecordPacking::Stored] {
            let mut block = InterruptedBytes::new(text.as_bytes());
            let head = WarcHead::new(WarcKind::Resource, "<urn:x:1>", "2026-01-01T00:00:00Z");
            let mut writer = WarcWriter::new(Vec::new(), 0);
            writer.write(&head, text.len() as u64, &mut block, packing).unwrap();
            let (bytes, mut read) = (writer.into_inner().unwrap(), String::new());
            let mut take = |record: crate::WarcRecord<'_>| record.block.read_to_string(&mut read).map(drop);
            assert!(WarcReader::new(&bytes[..]).next(&mut take).unwrap());
            assert_eq!(read, text);
        }
    }
}
