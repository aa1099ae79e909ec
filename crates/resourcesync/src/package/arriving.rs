//! Packages that are read while they arrive.

use std::io::{self, Read, Seek, SeekFrom};

use super::{
    Member, MemberReader,
    entry::{LOCAL, LOCAL_SIZE, has_plain_form, read_block},
    member::Inflater,
    records::RecordFields,
};

/// A package whose directory has not arrived yet, read member by member in the order of its bytes.
///
/// Nothing that is read is valid until [`Package::has`](super::Package::has) finds the member in the directory, and the
/// directory is safe (ZIP-7).
#[derive(Debug)]
pub struct ArrivingPackage<R> {
    source: R,
    next: u64,
    inflater: Inflater,
}

impl<R: Read + Seek> ArrivingPackage<R> {
    /// Begins at the first byte. Reading and seeking must wait for bytes that have not arrived.
    pub fn new(source: R) -> Self {
        Self { source, next: 0, inflater: Inflater::new() }
    }

    /// Returns the next member; `None` at the directory, and at a member whose length only the directory states.
    ///
    /// # Errors
    /// If the bytes cannot be read.
    pub fn next_member(&mut self) -> io::Result<Option<Member>> {
        self.source.seek(SeekFrom::Start(self.next))?;
        let Some(header) = read_block(&mut self.source, LOCAL_SIZE)? else { return Ok(None) };
        let mut fields = RecordFields::new(&header);
        let (signature, _needed) = (fields.take(4), fields.u16());
        let (flags, method) = (fields.u16(), fields.u16());
        let (_time, _date, crc) = (fields.u16(), fields.u16(), fields.u32());
        let (compressed, length) = (u64::from(fields.u32()), u64::from(fields.u32()));
        let (name_length, extra_length) = (fields.u16(), fields.u16());
        let Some(deflated) = has_plain_form(flags, method, [compressed, length]) else { return Ok(None) };
        let Some(name) = read_block(&mut self.source, name_length.into())? else { return Ok(None) };
        let Ok(name) = String::from_utf8(name) else { return Ok(None) };
        if signature != LOCAL {
            return Ok(None);
        }
        let data_start = self.next + LOCAL_SIZE as u64 + u64::from(name_length) + u64::from(extra_length);
        self.next = data_start.saturating_add(compressed);
        Ok(Some(Member { name: name.into(), length, compressed, crc, deflated, data_start }))
    }

    /// Opens the bytes of a member. Its length and checksum are verified at its end.
    ///
    /// # Errors
    /// If the bytes cannot be read.
    pub fn bytes(&mut self, member: &Member) -> io::Result<MemberReader<'_, R>> {
        MemberReader::open(&mut self.source, &mut self.inflater, member)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::{
        package::{Package, PackageLimits, PackageWriter},
        value::PackagePath,
    };

    fn package() -> Vec<u8> {
        let mut package = PackageWriter::new(Cursor::new(Vec::new()), b"<urlset/>").unwrap();
        package.add(&PackagePath::new("/a/b"), None, 5, &b"bytes"[..]).unwrap();
        package.finish().unwrap().into_inner()
    }

    #[test]
    fn members_come_in_the_order_of_the_bytes_and_the_directory_confirms_them() {
        let bytes = package();
        let mut arriving = ArrivingPackage::new(Cursor::new(&bytes));
        let mut whole = Package::open(Cursor::new(&bytes), PackageLimits::new()).unwrap();
        let mut names = Vec::new();
        while let Some(member) = arriving.next_member().unwrap() {
            assert!(whole.has(&member).unwrap());
            assert!(!whole.has(&Member { length: member.length + 1, ..member.clone() }).unwrap());
            let mut content = Vec::new();
            arriving.bytes(&member).unwrap().read_to_end(&mut content).unwrap();
            assert_eq!(content.len() as u64, member.length);
            names.push(member.name);
        }
        assert_eq!(names.iter().map(|name| &**name).collect::<Vec<_>>(), ["manifest.xml", "a/b"]);
    }

    #[test]
    fn what_is_no_member_ends_it() {
        for bytes in [&b""[..], b"PK", b"no package at all, but long enough for a header"] {
            assert_eq!(ArrivingPackage::new(Cursor::new(bytes)).next_member().unwrap(), None);
        }
        let mut described = package();
        described[6] |= 1 << 3;
        assert_eq!(ArrivingPackage::new(Cursor::new(described)).next_member().unwrap(), None);
    }
}
