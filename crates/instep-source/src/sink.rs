//! Places for documents: staged, synced, renamed.

mod folder;
#[cfg(test)]
mod memory;
mod open_folder;
mod staged;
mod twins;

use std::io::{BufWriter, Read, Seek, Write};

use crate::Error;

pub(crate) use folder::FolderSink;
#[cfg(test)]
pub(crate) use memory::MemorySink;
pub(crate) use open_folder::discard_leftovers;

/// Receives documents, and puts them in place together.
///
/// # Contract
/// No document is visible under its name before [`Sink::commit`]. Then each document appears completely, in the order
/// of its [`Rank`] and, within a rank, of its writing, so that everything a visible document refers to is also
/// visible.
pub(crate) trait Sink {
    /// Stages a document that is written from front to back; one staged before under the same name is replaced.
    /// Returns its length in bytes.
    ///
    /// # Errors
    /// If the bytes cannot be stored, or `body` fails.
    fn write(&mut self, name: &str, rank: Rank, body: DocumentBody<'_>) -> Result<u64, Error> {
        self.stage(name, rank, &mut |stage| {
            let mut buffered = BufWriter::with_capacity(1 << 16, stage);
            body(&mut buffered)?;
            buffered.flush().map_err(Error::write(name))
        })
    }

    /// Stages a document that is not written from front to back.
    ///
    /// # Errors
    /// As [`Sink::write`].
    fn stage(&mut self, name: &str, rank: Rank, body: StageBody<'_>) -> Result<u64, Error>;

    /// Stages the bytes that are in place under `name` as the document `under`; returns their length, `None` if
    /// nothing is in place.
    ///
    /// # Errors
    /// If they cannot be staged.
    fn preserve(&mut self, name: &str, under: &str) -> Result<Option<u64>, Error>;

    /// Returns `true` if a document of this length is staged or in place.
    ///
    /// # Errors
    /// If a fault hides whether it is.
    fn holds(&self, name: &str, length: u64) -> Result<bool, Error>;

    /// Returns the bytes of a document in place, if there is one.
    ///
    /// # Errors
    /// If it exists and cannot be read.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error>;

    /// Puts the staged documents in place, durably, then removes those in `remove`. Returns the names in the order in
    /// which they were put in place, with their lengths.
    ///
    /// # Errors
    /// If the bytes cannot be stored. The documents in place are then consistent; the others are missing.
    fn commit(&mut self, remove: &[String]) -> Result<Vec<(String, u64)>, Error>;
}

/// A document while it is made.
pub(crate) trait Stage: Read + Write + Seek {}

impl<T: Read + Write + Seek> Stage for T {}

/// Makes a document.
pub(crate) type StageBody<'a> = &'a mut dyn FnMut(&mut dyn Stage) -> Result<(), Error>;

/// Writes the bytes of a document.
pub(crate) type DocumentBody<'a> = &'a mut dyn FnMut(&mut dyn Write) -> Result<(), Error>;

/// The order in which documents are put in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Rank {
    /// Pages, packages, parts, lists: they refer to nothing that is written along with them.
    Part,
    /// Indexes, dumps, archives: they refer to parts.
    Index,
    /// Capability Lists.
    CapabilityList,
    /// The Source Description, and the documents that lead to it.
    Source,
}
