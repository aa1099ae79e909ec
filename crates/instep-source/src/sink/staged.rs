//! Documents that are staged in a folder, and the part of its disk that stays free meanwhile.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

use instep_store::{SpaceWatch, StagedName};

use super::{Rank, StageBody};
use crate::Error;

/// A document that is staged.
#[derive(Debug)]
pub(super) struct StagedDocument {
    pub(super) rank: Rank,
    pub(super) name: String,
    pub(super) number: StagedName,
    pub(super) length: u64,
}

/// Writes a staged document. Only packages leave a part of the disk free: lists take the places of others, and without them
/// readers would not learn of deletions.
pub(super) fn fill(
    name: &str,
    file: &mut File,
    body: StageBody<'_>,
    space: &mut SpaceWatch,
) -> Result<(), Error> {
    if name.ends_with(".xml") { body(file) } else { body(&mut WatchedPackage { file, space }) }
}

/// A staged package while it is written, as long as the disk has more free space than stays free.
struct WatchedPackage<'a> {
    file: &'a mut File,
    space: &'a mut SpaceWatch,
}

impl Read for WatchedPackage<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Write for WatchedPackage<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.space.wrote(&*self.file, written as u64)?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for WatchedPackage<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
