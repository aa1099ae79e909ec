//! The reasons why a request of a harvester is not answered.

use std::io;

use instep_store::database::DatabaseError;

/// A reason why a request cannot be answered now.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnswerError {
    /// The catalogue of the Source cannot be read.
    #[error(transparent)]
    Source(#[from] instep_source::Error),
    /// A statement on the index of records failed.
    #[error("the index of records fails")]
    Database(#[from] rusqlite::Error),
    /// The file of the index cannot be opened.
    #[error(transparent)]
    State(#[from] DatabaseError),
    /// The disk with the index or the records fails.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file of a record cannot be read now.
    #[error("the file of the record cannot be read")]
    Unreadable,
    /// A disk or another host fails, so that it is unknown if there is a record.
    #[error("{uri} cannot be read")]
    Fault {
        /// The URI of the record.
        uri: String,
        /// The fault.
        #[source]
        source: io::Error,
    },
    /// The index has to follow the catalogue further.
    #[error("the index of records is being built")]
    Behind,
    /// As many harvesters are answered as may be at a time.
    #[error("others are being answered")]
    Busy,
}
