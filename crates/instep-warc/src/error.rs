//! Reasons why an archive cannot be read on.

use std::io;

/// The reason why a record cannot be read. All records before it are valid, unless a checksum is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WarcError {
    /// The file ends within a record, as after a kill.
    #[error("The record at byte {offset} is cut off")]
    Torn {
        /// The first byte of the record in the file.
        offset: u64,
    },
    /// The bytes are no record of WARC.
    #[error("The record at byte {offset} cannot be read: {what}")]
    Malformed {
        /// The first byte of the record in the file.
        offset: u64,
        /// The fault.
        what: String,
    },
    /// The last record was read, but the gzip member that has it does not match its checksum.
    #[error("The record at byte {offset} is damaged: {what}")]
    Checksum {
        /// The first byte of the member in the file.
        offset: u64,
        /// The fault.
        what: String,
    },
    /// The file could not be read, or the receiver of the record failed.
    #[error("The record at byte {offset} cannot be processed")]
    Io {
        /// The first byte of the record in the file.
        offset: u64,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl WarcError {
    /// Returns the first byte of the record.
    pub fn offset(&self) -> u64 {
        match self {
            Self::Torn { offset }
            | Self::Malformed { offset, .. }
            | Self::Checksum { offset, .. }
            | Self::Io { offset, .. } => *offset,
        }
    }
}
