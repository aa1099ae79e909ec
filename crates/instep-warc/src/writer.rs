//! The writer: one gzip member for each record (WARC 1.1 Annex D), so that a reader can begin at any of them.

use std::{
    fmt,
    io::{self, Read, Write},
};

use flate2::{Compress, Compression, Crc, FlushCompress};

use crate::head::WarcHead;

/// Bytes that are read and compressed at a time.
const STEP: usize = 64 << 10;

/// Records of so few bytes are stored in their gzip member as they are: to compress one costs more time than it saves
/// space.
const SMALL: usize = 1_024;

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

/// Writes records to the end of a file. The state of the compressor is used again for each of them: to make it costs more
/// than to compress a small record.
pub struct WarcWriter<W> {
    out: W,
    offset: u64,
    compress: Compress,
    crc: Crc,
    member: Vec<u8>,
    block: Vec<u8>,
}

impl<W: Write> WarcWriter<W> {
    /// Returns a writer for the end of a file that has `offset` bytes.
    pub fn new(out: W, offset: u64) -> Self {
        let compress = Compress::new(Compression::fast(), false);
        Self { out, offset, compress, crc: Crc::new(), member: Vec::new(), block: vec![0; STEP] }
    }

    /// Writes a record whose block has `length` bytes.
    ///
    /// # Errors
    /// If the block has another length, or writing fails. Then the file may end within the record.
    pub fn write(&mut self, head: &WarcHead, length: u64, block: &mut dyn Read) -> io::Result<WrittenRecord> {
        let offset = self.offset;
        self.crc.reset();
        // No name, no time, no system: the same records are the same bytes.
        self.member.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
        let mut text = std::mem::take(&mut self.block);
        let mut start = Vec::with_capacity(512);
        head.write(length, &mut start);
        if let Some(small) =
            usize::try_from(length).ok().filter(|length| start.len() + length + END.len() <= SMALL)
        {
            self.block = text;
            return self.store(start, small, block, offset);
        }
        self.compress.reset();
        self.deflate(&start, FlushCompress::None)?;
        let mut left = length;
        while left > 0 {
            let most = usize::try_from(left).map_or(STEP, |left| left.min(STEP));
            let read = block.read(&mut text[..most])?;
            if read == 0 {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the block is shorter than announced",
                ));
            }
            self.deflate(&text[..read], FlushCompress::None)?;
            left -= read as u64;
        }
        self.block = text;
        self.deflate(END, FlushCompress::Finish)?;
        self.end(offset)
    }

    /// Writes a gzip member that has been a record of another file.
    ///
    /// # Errors
    /// If writing fails.
    pub fn append(&mut self, member: &[u8]) -> io::Result<()> {
        self.out.write_all(member)?;
        self.offset += member.len() as u64;
        Ok(())
    }

    /// Writes a small record: one block that is stored (RFC 1951 §3.2.4).
    fn store(
        &mut self,
        mut record: Vec<u8>,
        length: usize,
        block: &mut dyn Read,
        offset: u64,
    ) -> io::Result<WrittenRecord> {
        let begin = record.len();
        record.resize(begin + length, 0);
        block.read_exact(&mut record[begin..])?;
        record.extend_from_slice(END);
        let stored = u16::try_from(record.len()).map_err(io::Error::other)?;
        self.crc.update(&record);
        self.member.push(1);
        self.member.extend_from_slice(&stored.to_le_bytes());
        self.member.extend_from_slice(&(!stored).to_le_bytes());
        self.member.extend_from_slice(&record);
        self.end(offset)
    }

    /// Ends a member with its check sum and its length.
    fn end(&mut self, offset: u64) -> io::Result<WrittenRecord> {
        self.member.extend_from_slice(&self.crc.sum().to_le_bytes());
        self.member.extend_from_slice(&self.crc.amount().to_le_bytes());
        self.put()?;
        Ok(WrittenRecord { offset, length: self.offset - offset })
    }

    fn deflate(&mut self, mut input: &[u8], flush: FlushCompress) -> io::Result<()> {
        self.crc.update(input);
        loop {
            let before = self.compress.total_in();
            self.member.reserve(STEP / 2);
            let status = self.compress.compress_vec(input, &mut self.member, flush)?;
            input = &input[(self.compress.total_in() - before) as usize..];
            if self.member.len() >= STEP {
                self.put()?;
            }
            let is_done = match flush {
                FlushCompress::Finish => status == flate2::Status::StreamEnd,
                _ => input.is_empty(),
            };
            if is_done {
                return Ok(());
            }
        }
    }

    fn put(&mut self) -> io::Result<()> {
        self.out.write_all(&self.member)?;
        self.offset += self.member.len() as u64;
        self.member.clear();
        Ok(())
    }

    /// Returns the number of bytes that the file has.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns what is written to.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Returns what was written to.
    pub fn into_inner(self) -> W {
        self.out
    }
}

impl<W> fmt::Debug for WarcWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WarcWriter").field("offset", &self.offset).finish_non_exhaustive()
    }
}
