//! The errors of a fleet.

use std::path::PathBuf;

use instep_destination::exit_code;
use instep_net::HttpError;
#[cfg(feature = "postgres")]
use instep_postgres::PostgresError;
use instep_store::database::{DatabaseError, is_storage_failure};
use rusqlite::ErrorCode;

use crate::name::SourceName;

/// The fleet cannot be opened, or an operation on it cannot be done. Faults of one Source are recorded with that
/// Source instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// A Source is described in a way that cannot be used.
    #[error("Source {name}: {what}")]
    Definition {
        /// The Source.
        name: SourceName,
        /// The fault.
        what: String,
    },
    /// A name is given to two Sources.
    #[error("There is a Source {name} already: {what}")]
    Twice {
        /// The name.
        name: SourceName,
        /// The one that has it.
        what: String,
    },
    /// The folder of a copy is not its own.
    #[error("Source {name} cannot have this folder: {what}")]
    Overlap {
        /// The Source.
        name: SourceName,
        /// The folder, and the Source that has it.
        what: String,
    },
    /// No Source has a name.
    #[error("There is no Source {name}")]
    Unknown {
        /// The name.
        name: SourceName,
    },
    /// Something is asked of a Source that does not fit its state.
    #[error("Source {name} {what}")]
    Unfit {
        /// The Source.
        name: SourceName,
        /// The reason.
        what: &'static str,
    },
    /// A list of Sources cannot be read.
    #[error("line {line}: {what}")]
    Import {
        /// The line, from 1.
        line: u64,
        /// The fault.
        what: String,
    },
    /// Another process keeps the fleet.
    #[error("The fleet in {} is kept by {holder}", dir.display())]
    Locked {
        /// The folder of the fleet.
        dir: PathBuf,
        /// The process.
        holder: String,
    },
    /// The folder of the fleet cannot be used.
    #[error("Cannot use the folder {}: {what}", dir.display())]
    Folder {
        /// The folder.
        dir: PathBuf,
        /// The cause.
        what: String,
    },
    /// The record cannot be opened.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The record cannot be read or written.
    #[error("Cannot use {}", path.display())]
    Record {
        /// Its file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: rusqlite::Error,
    },
    /// The record was not read in time.
    #[error("The record of the fleet does not answer: try again in a moment")]
    NoAnswer,
    /// Options that do not go together.
    #[error("{what}")]
    Usage {
        /// The fault.
        what: String,
    },
    /// A row of the record has a value that no version of instep writes.
    #[error("The record of the fleet in {place} is damaged: {what}")]
    Damaged {
        /// The record.
        place: String,
        /// The fault.
        what: String,
    },
    /// The folder or the database has no fleet.
    #[error("There is no fleet in {place}; add a Source, or start instep run")]
    NoFleet {
        /// The folder or the database.
        place: String,
    },
    /// The record is in a database that cannot be used.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// The record is in a database, and this program was built without the engine.
    #[error("This program was built without PostgreSQL")]
    NoEngine,
    /// An option of the network cannot be used.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The address at which hubs deliver, or the object storage of the copies, cannot be used.
    #[error(transparent)]
    Unusable(#[from] instep_destination::Error),
}

impl FleetError {
    /// Returns the exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Locked { .. } => exit_code::LOCKED,
            Self::Database(DatabaseError::Newer { .. }) => exit_code::NEWER_STATE,
            Self::Folder { .. }
            | Self::Database(_)
            | Self::Record { .. }
            | Self::NoAnswer
            | Self::Damaged { .. } => exit_code::STORAGE,
            #[cfg(feature = "postgres")]
            Self::Postgres(error) => exit_code_of(error),
            Self::Unusable(error) => error.exit_code(),
            _ => exit_code::USAGE,
        }
    }

    /// Returns `true` if it may be over without another start of the process: the database of the record restarts or fails
    /// over, or the disk of its file is full or fails, or another process writes the file for long.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Record { source, .. } => {
                is_storage_failure(source) || source.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(error) => error.may_pass(),
            _ => false,
        }
    }
}

/// Returns the exit code for a failure of a database, as for the state of a single copy.
#[cfg(feature = "postgres")]
fn exit_code_of(error: &PostgresError) -> u8 {
    match error {
        PostgresError::Newer { .. } => exit_code::NEWER_STATE,
        PostgresError::Url { .. } | PostgresError::Denied { .. } | PostgresError::Foreign { .. } => {
            exit_code::USAGE
        }
        _ => exit_code::STORAGE,
    }
}
