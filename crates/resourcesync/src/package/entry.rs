//! An entry of the central directory, the reasons to refuse its package, and those not to use its member.

use std::io::{self, Read, Seek};

use super::{
    member::Member,
    records::{RecordFields, read_at},
};
use crate::value::PackagePath;

const ENTRY: &[u8] = b"PK\x01\x02";
const ENTRY_SIZE: usize = 46;
/// Bytes of the longest entry: with the longest name, extra field and comment.
pub(super) const ENTRY_MOST: usize = ENTRY_SIZE + 3 * 0xffff;
pub(super) const LOCAL: &[u8] = b"PK\x03\x04";
pub(super) const LOCAL_SIZE: usize = 30;
const UNICODE_PATH: u16 = 0x7075;
const ZIP64: u16 = 0x0001;
const FULL: u64 = 0xffff_ffff;
const FLAG_DESCRIPTOR: u16 = 1 << 3;
/// Flags of members that are encrypted, patched, strongly encrypted, or have a masked directory.
const FLAGS_REFUSED: u16 = 1 | 1 << 5 | 1 << 6 | 1 << 13;
/// Members below this size may have any ratio of compression.
const RATIO_FROM: u64 = 1 << 20;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// A member as the directory describes it.
#[derive(Debug)]
pub(super) struct DirectoryEntry {
    pub(super) member: Member,
    pub(super) header_at: u64,
    flags: u16,
    method: u16,
    raw_name: Vec<u8>,
    /// The reason why this member cannot be used. It concerns no other.
    fault: Option<&'static str>,
}

impl DirectoryEntry {
    /// Reads the next entry; `None` if the bytes are not an entry. Reasons to refuse the package go to `refuse`.
    pub(super) fn read(
        bytes: &mut impl Read,
        refuse: &mut dyn FnMut(&'static str, String),
    ) -> io::Result<Option<Self>> {
        let Some(fixed) = read_block(bytes, ENTRY_SIZE)? else { return Ok(None) };
        let mut fields = RecordFields::new(&fixed);
        if fields.take(4) != ENTRY {
            return Ok(None);
        }
        let (made_by, _needed) = (fields.u16(), fields.u16());
        let (flags, method) = (fields.u16(), fields.u16());
        let (_time, _date, crc) = (fields.u16(), fields.u16(), fields.u32());
        let (compressed, length) = (fields.u32(), fields.u32());
        let lengths = (fields.u16(), fields.u16(), fields.u16());
        let (disk, _internal, attributes) = (fields.u16(), fields.u16(), fields.u32());
        let header_at = fields.u32();
        let Some(raw_name) = read_block(bytes, lengths.0.into())? else { return Ok(None) };
        let Some(extra) = read_block(bytes, lengths.1.into())? else { return Ok(None) };
        if read_block(bytes, lengths.2.into())?.is_none() {
            return Ok(None);
        }
        let member = Member {
            name: String::from_utf8_lossy(&raw_name).into(),
            length: length.into(),
            compressed: compressed.into(),
            crc,
            deflated: method == DEFLATED,
            data_start: 0,
        };
        let mut entry = Self { member, header_at: header_at.into(), flags, method, raw_name, fault: None };
        let ambiguous = [
            entry.read_extra(&extra),
            (disk != 0).then_some("lies in another part"),
            entry.has_two_lengths().then_some("is stored with two lengths"),
        ];
        for problem in ambiguous.into_iter().flatten() {
            refuse("ZIP-7", format!("{:?} {problem}", entry.member.name));
        }
        entry.fault = entry.name_fault().or(entry.kind_fault(made_by, attributes)).or(entry.form_fault());
        // The bytes of a member start at a place that only its own header gives; until that is read, this is the
        // smallest possible offset.
        entry.member.data_start = entry.header_at.saturating_add((LOCAL_SIZE + entry.raw_name.len()) as u64);
        Ok(Some(entry))
    }

    /// Returns the reason why this member cannot be used, whatever the others are.
    pub(super) fn fault(&self, most_ratio: u64) -> Option<String> {
        let Member { name, length, compressed, .. } = &self.member;
        if let Some(fault) = self.fault {
            return Some(format!("{name:?} {fault}"));
        }
        let swells = *length > RATIO_FROM && length / compressed.max(&1) > most_ratio;
        swells.then(|| format!("{name:?} is compressed more than {most_ratio} times"))
    }

    /// Returns the fault of a name that leads out of the package, or that readers would change. Names are only compared
    /// with paths of the manifest, so such a name could match nothing.
    fn name_fault(&self) -> Option<&'static str> {
        let name = std::str::from_utf8(&self.raw_name).unwrap_or("\0");
        let safe = !name.starts_with('/') && PackagePath::new(name).member() == Ok(name);
        (!safe).then_some("leads out of the package, or is not a usable name")
    }

    /// Returns the fault of a link, a device or another special file, which must not be treated as a file.
    fn kind_fault(&self, made_by: u16, attributes: u32) -> Option<&'static str> {
        const UNIX: u16 = 3;
        const OS_X: u16 = 19;
        let kind = attributes >> 28;
        let unix = matches!(made_by >> 8, UNIX | OS_X);
        let plain = match kind {
            0 | 0o10 => true,
            0o4 => self.member.is_folder(),
            _ => false,
        };
        (unix && !plain).then_some("is a link or a special file")
    }

    /// Returns `true` for a stored member with two different lengths: readers would end it at different places.
    fn has_two_lengths(&self) -> bool {
        let is_plain = self.method == STORED && self.flags & FLAGS_REFUSED == 0;
        is_plain && self.member.length != self.member.compressed
    }

    fn form_fault(&self) -> Option<&'static str> {
        if self.flags & FLAGS_REFUSED != 0 {
            return Some("is encrypted");
        }
        match self.method {
            STORED | DEFLATED if self.member.is_folder() && self.member.length > 0 => {
                Some("is a folder with bytes")
            }
            STORED | DEFLATED => None,
            _ => Some("is compressed with a method other than deflate"),
        }
    }

    /// Reads the zip64 sizes, and refuses a second name that differs from the first.
    fn read_extra(&mut self, extra: &[u8]) -> Option<&'static str> {
        let mut fields = RecordFields::new(extra);
        let mut zip64 = false;
        while fields.len() >= 4 {
            let (id, size) = (fields.u16(), usize::from(fields.u16()));
            let block = fields.take(size);
            if block.len() < size {
                return Some("has a damaged extra field");
            }
            match id {
                UNICODE_PATH if block.get(5..) != Some(&self.raw_name) => return Some("has two names"),
                ZIP64 if zip64 => return Some("has two zip64 fields"),
                ZIP64 => {
                    zip64 = true;
                    let mut sizes = RecordFields::new(block);
                    let wide = [&mut self.member.length, &mut self.member.compressed, &mut self.header_at];
                    for value in wide.into_iter().filter(|value| **value == FULL) {
                        if sizes.len() < 8 {
                            return Some("has a zip64 field that is too short");
                        }
                        *value = sizes.u64();
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Compares the member's own header with the directory and returns the difference; finds the start of the bytes.
    pub(super) fn local_difference<R: Read + Seek>(
        &mut self,
        source: &mut R,
    ) -> io::Result<Option<&'static str>> {
        let header = read_at(source, self.header_at, LOCAL_SIZE + self.raw_name.len())?;
        if header.len() < LOCAL_SIZE + self.raw_name.len() || !header.starts_with(LOCAL) {
            return Ok(Some("no member header"));
        }
        let mut fields = RecordFields::new(&header[6..]);
        let (flags, method) = (fields.u16(), fields.u16());
        let (_time, _date, crc) = (fields.u16(), fields.u16(), fields.u32());
        let (compressed, length) = (u64::from(fields.u32()), u64::from(fields.u32()));
        let (name_length, extra_length) = (fields.u16(), fields.u16());
        self.member.data_start += u64::from(extra_length);
        let later = flags & FLAG_DESCRIPTOR != 0;
        let same = |found: u64, expected: u64| found == expected || found == FULL || (later && found == 0);
        Ok(if usize::from(name_length) != self.raw_name.len() || header[LOCAL_SIZE..] != self.raw_name {
            Some("another name")
        } else if (flags ^ self.flags) & (FLAGS_REFUSED | FLAG_DESCRIPTOR) != 0 || method != self.method {
            Some("another form")
        } else if !same(compressed, self.member.compressed) || !same(length, self.member.length) {
            Some("other sizes")
        } else if crc != self.member.crc && !(later && crc == 0) {
            Some("another checksum")
        } else {
            None
        })
    }
}

/// Returns `true` if a member is deflated, `false` if it is stored; `None` if its own header is not enough to read it.
pub(super) fn has_plain_form(flags: u16, method: u16, sizes: [u64; 2]) -> Option<bool> {
    let plain = flags & (FLAG_DESCRIPTOR | FLAGS_REFUSED) == 0 && !sizes.contains(&FULL);
    match method {
        STORED if plain && sizes[0] == sizes[1] => Some(false),
        DEFLATED if plain => Some(true),
        _ => None,
    }
}

/// Reads exactly `count` bytes; `None` if there are fewer.
pub(super) fn read_block(bytes: &mut impl Read, count: usize) -> io::Result<Option<Vec<u8>>> {
    let mut block = Vec::with_capacity(count);
    bytes.take(count as u64).read_to_end(&mut block)?;
    Ok((block.len() == count).then_some(block))
}
