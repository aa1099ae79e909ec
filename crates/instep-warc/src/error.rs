//! Reasons why an archive cannot be read on.

use std::io;

/// The reason why a record cannot be read. All records before it are valid.
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
        let (Self::Torn { offset } | Self::Malformed { offset, .. } | Self::Io { offset, .. }) = self;
        *offset
    }
}
