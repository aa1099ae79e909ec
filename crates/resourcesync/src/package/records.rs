//! The records of the ZIP format (APPNOTE 6.3) that packages need. Numbers are little-endian.

use std::io::{self, Read, Seek, SeekFrom};

/// A record of fixed size, read field by field.
pub(super) struct RecordFields<'b>(&'b [u8]);

impl<'b> RecordFields<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn take(&mut self, count: usize) -> &'b [u8] {
        let (head, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        head
    }

    fn number(&mut self, count: usize) -> u64 {
        self.take(count).iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    pub(super) fn u16(&mut self) -> u16 {
        self.number(2) as u16
    }

    pub(super) fn u32(&mut self) -> u32 {
        self.number(4) as u32
    }

    pub(super) fn u64(&mut self) -> u64 {
        self.number(8)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The place of the central directory, from the record at the end of the file and its zip64 companion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) entries: u64,
    pub(super) start: u64,
    pub(super) size: u64,
    /// The offset where the directory must end: that of the first end record.
    pub(super) limit: u64,
}

const END: &[u8] = b"PK\x05\x06";
const END64: &[u8] = b"PK\x06\x06";
const LOCATOR64: &[u8] = b"PK\x06\x07";
const END_SIZE: u64 = 22;
const LOCATOR_SIZE: u64 = 20;
const END64_SIZE: u64 = 56;

/// Reads the end records. The inner error states why they cannot be trusted.
pub(super) fn read_end<R: Read + Seek>(source: &mut R, length: u64) -> io::Result<Result<End, String>> {
    let tail_length = length.min(END_SIZE + 0xffff);
    let tail = read_at(source, length - tail_length, tail_length as usize)?;
    // The record must reach to the last byte: otherwise readers disagree about which record is the last.
    let whole =
        |at: &usize| tail.len() - at >= END_SIZE as usize && comment_end(&tail[*at..]) == tail.len() - at;
    let mut found = memchr::memmem::rfind_iter(&tail, END);
    let Some(at) = found.find(whole) else {
        let is_short =
            |at: usize| tail.len() - at < END_SIZE as usize || comment_end(&tail[at..]) > tail.len() - at;
        let what = match memchr::memmem::rfind(&tail, END) {
            Some(at) if is_short(at) => "an end record that is cut off",
            Some(_) => "bytes after the end record",
            None => "no ZIP end record; not a ZIP file, or cut off",
        };
        return Ok(Err(what.into()));
    };
    if found.any(|at| whole(&at)) {
        return Ok(Err("two end records".into()));
    }
    let position = length - tail_length + at as u64;
    let mut fields = RecordFields::new(&tail[at + 4..]);
    let (disk, directory_disk) = (fields.u16(), fields.u16());
    let (on_disk, entries) = (fields.u16(), fields.u16());
    let (size, start) = (fields.u32(), fields.u32());
    if (disk, directory_disk) != (0, 0) || on_disk != entries {
        return Ok(Err("a package in several parts".into()));
    }
    let short = End { entries: entries.into(), start: start.into(), size: size.into(), limit: position };
    let saturated = entries == u16::MAX || size == u32::MAX || start == u32::MAX;
    read_end64(source, short, saturated)
}

fn comment_end(record: &[u8]) -> usize {
    END_SIZE as usize + usize::from(RecordFields::new(&record[20..]).u16())
}

/// Reads the zip64 records before the end record. They must exist if a field is full, and agree with fields that are
/// not.
fn read_end64<R: Read + Seek>(
    source: &mut R,
    short: End,
    saturated: bool,
) -> io::Result<Result<End, String>> {
    let Some(locator_at) = short.limit.checked_sub(LOCATOR_SIZE) else { return Ok(Ok(short)) };
    let locator = read_at(source, locator_at, LOCATOR_SIZE as usize)?;
    if !locator.starts_with(LOCATOR64) {
        return Ok(if saturated && short.limit < u64::from(u32::MAX) && short.entries != 0xffff {
            Err("zip64 fields without a zip64 record".into())
        } else {
            Ok(short)
        });
    }
    let at = RecordFields::new(&locator[8..]).u64();
    if at.checked_add(END64_SIZE) != Some(locator_at) {
        return Ok(Err("a zip64 record that is not where it should be".into()));
    }
    let record = read_at(source, at, END64_SIZE as usize)?;
    if !record.starts_with(END64) {
        return Ok(Err("a zip64 locator that leads nowhere".into()));
    }
    let mut fields = RecordFields::new(&record[24..]);
    let (on_disk, entries, size, start) = (fields.u64(), fields.u64(), fields.u64(), fields.u64());
    let agrees = |short: u64, full: u64, long: u64| short == full || short == long;
    let consistent = on_disk == entries
        && agrees(short.entries, 0xffff, entries)
        && agrees(short.size, 0xffff_ffff, size)
        && agrees(short.start, 0xffff_ffff, start);
    Ok(if consistent {
        Ok(End { entries, start, size, limit: at })
    } else {
        Err("zip64 fields that disagree with the others".into())
    })
}

/// Reads `count` bytes at an offset, fewer at the end of the file.
pub(super) fn read_at<R: Read + Seek>(source: &mut R, offset: u64, count: usize) -> io::Result<Vec<u8>> {
    source.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::with_capacity(count);
    source.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
