//! The bytes that entries take in a document, so that it can end before it has more than the Sitemap protocol allows
//! (GEN-12).

use std::io::{self, Sink};

use resourcesync::{Capability, DocumentWriter, Entry, Form, Header, WriteOptions};

use crate::{Error, ListOptions};

/// Room for the header of a document, with its links.
const HEADER_BYTES: u64 = 2_048;
/// Bytes assumed of an entry that can only be written in part.
const PARTIAL_ENTRY_BYTES: u64 = 4_096;

/// Measures entries by writing them to nowhere.
pub(crate) struct EntryMeter {
    writer: DocumentWriter<Sink>,
}

impl EntryMeter {
    /// Returns a meter for documents that are written with these options.
    pub(crate) fn new(options: &WriteOptions) -> Result<Self, Error> {
        // The rules depend on the entries before, and it does not matter here if one is broken.
        let mut options = options.clone();
        options.unchecked = true;
        let header = Header::new(Form::List, Capability::ChangeList);
        let failed = |source| Error::Document { name: "of measured entries".to_owned(), source };
        Ok(Self { writer: DocumentWriter::new(io::sink(), &header, options).map_err(failed)? })
    }

    /// Returns the bytes of an entry.
    pub(crate) fn bytes(&mut self, entry: &Entry) -> u64 {
        let before = self.writer.bytes_written();
        match self.writer.write_entry(entry) {
            Ok(()) => self.writer.bytes_written() - before,
            Err(_) => PARTIAL_ENTRY_BYTES,
        }
    }
}

/// Returns the bytes that the entries of a document may have.
pub(crate) fn room_for_entries(lists: &ListOptions) -> u64 {
    lists.bytes - lists.bytes / 64 - HEADER_BYTES.min(lists.bytes / 4)
}
