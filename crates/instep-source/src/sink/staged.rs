//! Documents that are staged in a folder, and the part of its disk that stays free meanwhile.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

use instep_store::{SpaceWatch, StagedName};

use super::Rank;

/// A document that is staged.
#[derive(Debug)]
pub(super) struct StagedDocument {
    pub(super) rank: Rank,
    pub(super) name: String,
    pub(super) number: StagedName,
    pub(super) length: u64,
}

/// A staged document while it is written, as long as the disk has more free space than stays free. A few small documents
/// are written all the same: they may be those by which readers learn of deletions.
pub(super) struct WatchedDocument<'a> {
    pub(super) file: &'a mut File,
    pub(super) space: &'a mut SpaceWatch,
}

impl Read for WatchedDocument<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Write for WatchedDocument<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.space.wrote(&*self.file, written as u64)?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for WatchedDocument<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
