use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};

use flate2::{Crc, bufread::DeflateDecoder};

use super::Member;

/// The bytes of a member, decompressed. More bytes than announced, fewer, or other ones are an error at the end.
#[derive(Debug)]
pub struct MemberReader<'p, R> {
    bytes: Bytes<'p, R>,
    crc: Crc,
    left: u64,
    expected_crc: u32,
}

#[derive(Debug)]
enum Bytes<'p, R> {
    Stored(Take<&'p mut R>),
    Deflated(Box<DeflateDecoder<BufReader<Take<&'p mut R>>>>),
}

impl<'p, R: Read + Seek> MemberReader<'p, R> {
    pub(super) fn open(source: &'p mut R, member: &Member) -> io::Result<Self> {
        source.seek(SeekFrom::Start(member.data_start))?;
        let raw = source.take(member.compressed);
        let bytes = match member.deflated {
            false => Bytes::Stored(raw),
            true => Bytes::Deflated(Box::new(DeflateDecoder::new(BufReader::with_capacity(32 << 10, raw)))),
        };
        Ok(Self { bytes, crc: Crc::new(), left: member.length, expected_crc: member.crc })
    }
}

impl<R: Read> Read for MemberReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let amount = match &mut self.bytes {
            Bytes::Stored(bytes) => bytes.read(buffer),
            Bytes::Deflated(bytes) => bytes.read(buffer),
        }?;
        self.crc.update(&buffer[..amount]);
        let damaged = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        match self.left.checked_sub(amount as u64) {
            None => return damaged("The member is longer than its directory entry says"),
            Some(left) => self.left = left,
        }
        match amount {
            0 if self.left > 0 => damaged("The member is shorter than its directory entry says"),
            0 if self.crc.sum() != self.expected_crc => damaged("The member's checksum is wrong"),
            _ => Ok(amount),
        }
    }
}
