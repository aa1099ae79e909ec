//! The members of a package, and reading their bytes.

use std::{
    fmt,
    io::{self, Read, Seek, SeekFrom, Take},
};

use flate2::{Crc, Decompress, FlushDecompress, Status};

/// The name of the manifest in a package (ZIP-3).
pub const MANIFEST: &str = "manifest.xml";

/// A member of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// The name. It is used only within the package, and never becomes a file name.
    pub name: Box<str>,
    /// The length in bytes, decompressed.
    pub length: u64,
    /// The length in bytes in the package.
    pub compressed: u64,
    /// The CRC-32 of the decompressed bytes.
    pub crc: u32,
    /// `true` if the member is compressed with deflate, `false` if it is stored.
    pub deflated: bool,
    /// The offset of its first byte in the package.
    pub data_start: u64,
}

impl Member {
    /// Returns `true` if the member only represents a folder.
    pub fn is_folder(&self) -> bool {
        self.name.ends_with('/')
    }
}

/// The bytes of a member, decompressed. Another length or checksum than announced is an error at the end.
#[derive(Debug)]
pub struct MemberReader<'p, R> {
    raw: Take<&'p mut R>,
    /// `None` if the member is stored.
    inflater: Option<&'p mut Inflater>,
    crc: Crc,
    left: u64,
    expected_crc: u32,
}

impl<'p, R: Read + Seek> MemberReader<'p, R> {
    pub(super) fn open(source: &'p mut R, inflater: &'p mut Inflater, member: &Member) -> io::Result<Self> {
        source.seek(SeekFrom::Start(member.data_start))?;
        let raw = source.take(member.compressed);
        inflater.begin();
        let inflater = member.deflated.then_some(inflater);
        Ok(Self { raw, inflater, crc: Crc::new(), left: member.length, expected_crc: member.crc })
    }
}

impl<R: Read> Read for MemberReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let amount = match &mut self.inflater {
            None => self.raw.read(buffer),
            Some(inflater) => inflater.read(&mut self.raw, buffer),
        }?;
        self.crc.update(&buffer[..amount]);
        match self.left.checked_sub(amount as u64) {
            None => return Err(damaged("The member is longer than its directory entry says")),
            Some(left) => self.left = left,
        }
        match amount {
            0 if self.left > 0 => Err(damaged("The member is shorter than its directory entry says")),
            0 if self.crc.sum() != self.expected_crc => Err(damaged("The member's checksum is wrong")),
            _ => Ok(amount),
        }
    }
}

/// The state of decompression. It is reused for each member: creating it takes longer than decompressing a small one.
pub(super) struct Inflater {
    state: Decompress,
    input: Box<[u8]>,
    start: usize,
    end: usize,
    is_done: bool,
}

impl Inflater {
    const INPUT: usize = 32 << 10;

    pub(super) fn new() -> Self {
        let input = vec![0; Self::INPUT].into();
        Self { state: Decompress::new(false), input, start: 0, end: 0, is_done: false }
    }

    fn begin(&mut self) {
        self.state.reset(false);
        (self.start, self.end, self.is_done) = (0, 0, false);
    }

    /// Reads the next decompressed bytes; 0 at the end.
    fn read(&mut self, raw: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_done {
            if self.start == self.end {
                (self.start, self.end) = (0, raw.read(&mut self.input)?);
            }
            let input = &self.input[self.start..self.end];
            let flush = if input.is_empty() { FlushDecompress::Finish } else { FlushDecompress::None };
            let (taken, given) = (self.state.total_in(), self.state.total_out());
            let status = self.state.decompress(input, buffer, flush);
            let status =
                status.map_err(|_| damaged("The member is not deflated, as its header says it is"))?;
            let (taken, given) = (self.state.total_in() - taken, self.state.total_out() - given);
            self.start += taken as usize;
            self.is_done = status == Status::StreamEnd;
            if given > 0 {
                return Ok(given as usize);
            }
            if !self.is_done && taken == 0 && flush == FlushDecompress::Finish {
                return Err(damaged("The member is cut off"));
            }
        }
        Ok(0)
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflater").field("is_done", &self.is_done).finish_non_exhaustive()
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
