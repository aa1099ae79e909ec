//! Reasons why the catalogue cannot be used.

use std::{path::PathBuf, sync::Arc};

use instep_store::database::{DatabaseError, is_storage_failure};

use crate::Error;
#[cfg(feature = "postgres")]
use instep_postgres::PostgresError;

/// The catalogue cannot be used, or a statement on it failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The file cannot be opened, or was written by another program or a newer version.
    #[error(transparent)]
    Database(Arc<DatabaseError>),
    /// SQLite refused a statement: the disk is full or faulty, or the file is damaged.
    #[error("The catalogue failed while {doing}")]
    Sqlite {
        /// The purpose of the statement.
        doing: &'static str,
        /// The reason that SQLite gives.
        #[source]
        source: Arc<rusqlite::Error>,
    },
    /// A row has a value that instep does not write.
    #[error("The catalogue is damaged: {what} of {uri}")]
    Damaged {
        /// The column.
        what: &'static str,
        /// The row.
        uri: String,
    },
    /// A stored record has a form that no version of instep writes.
    #[error(
        "The record {name:?} in {} cannot be read ({what}): restore the file from a backup, or move its folder away to publish as for the first time",
        path.display()
    )]
    Record {
        /// The file.
        path: PathBuf,
        /// The name of the record.
        name: String,
        /// The fault.
        what: String,
    },
    /// The server of PostgreSQL cannot be reached, or refuses the catalogue.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Postgres(Arc<PostgresError>),
    /// The engine manages its space itself.
    #[error(
        "The PostgreSQL server of {place} reuses free space itself (autovacuum). To return it to the disk, run VACUUM FULL on the server."
    )]
    CompactedByServer {
        /// The database.
        place: String,
    },
    /// The key of a resource is too long for the engine.
    #[error("The URI or path has {bytes} bytes, and this catalogue can keep {most}: {uri}")]
    TooLong {
        /// The resource.
        uri: String,
        /// The bytes of its key.
        bytes: usize,
        /// The largest number that the engine can store.
        most: usize,
    },
    /// The thread that writes has ended, so that nothing more can be recorded.
    #[error("The catalogue is closed")]
    Closed,
}

impl CatalogueError {
    /// Returns `true` if the disk is full or faulty, and `false` if the content of the file is at fault.
    pub fn is_storage(&self) -> bool {
        match self {
            Self::Database(error) => error.is_storage_failure(),
            Self::Sqlite { source, .. } => is_storage_failure(source),
            #[cfg(feature = "postgres")]
            Self::Postgres(error) => error.may_pass(),
            Self::Damaged { .. }
            | Self::Record { .. }
            | Self::CompactedByServer { .. }
            | Self::TooLong { .. }
            | Self::Closed => false,
        }
    }
}

impl CatalogueError {
    /// Returns `true` if a second attempt may succeed: another transaction conflicted with this one, or the engine
    /// cannot be reached at the moment.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(error) => error.may_pass(),
            _ => false,
        }
    }
}

#[cfg(feature = "postgres")]
impl From<PostgresError> for CatalogueError {
    fn from(error: PostgresError) -> Self {
        Self::Postgres(Arc::new(error))
    }
}

impl From<DatabaseError> for CatalogueError {
    fn from(error: DatabaseError) -> Self {
        Self::Database(Arc::new(error))
    }
}

/// Adds to an SQLite error what the statement was for.
pub(super) trait Doing<T> {
    fn doing(self, doing: &'static str) -> Result<T, CatalogueError>;
}

impl<T> Doing<T> for rusqlite::Result<T> {
    fn doing(self, doing: &'static str) -> Result<T, CatalogueError> {
        self.map_err(|source| CatalogueError::Sqlite { doing, source: Arc::new(source) })
    }
}

impl From<DatabaseError> for Error {
    fn from(error: DatabaseError) -> Self {
        CatalogueError::from(error).into()
    }
}

impl From<CatalogueError> for Error {
    fn from(error: CatalogueError) -> Self {
        match error {
            CatalogueError::Database(database) => match &*database {
                DatabaseError::Newer { path, found, known } => {
                    Self::NewerCatalogue { path: path.clone(), found: *found, known: *known }
                }
                other => Self::Catalogue { path: other.path().to_owned(), source: Box::new(database) },
            },
            CatalogueError::Record { ref path, .. } => {
                Self::Catalogue { path: path.clone(), source: Box::new(error) }
            }
            #[cfg(feature = "postgres")]
            CatalogueError::Postgres(error) => of_database(error),
            CatalogueError::CompactedByServer { .. } | CatalogueError::TooLong { .. } => {
                Self::option("catalogue", error.to_string())
            }
            CatalogueError::Sqlite { .. } | CatalogueError::Damaged { .. } | CatalogueError::Closed => {
                Self::Catalogue { path: PathBuf::new(), source: Box::new(error) }
            }
        }
    }
}

/// Returns the error of a Source whose database cannot be used.
#[cfg(feature = "postgres")]
fn of_database(error: Arc<PostgresError>) -> Error {
    let path = PathBuf::from(error.place());
    match &*error {
        PostgresError::Taken { holder, .. } => Error::Locked { path, holder: holder.clone() },
        PostgresError::Newer { found, known, .. } => {
            Error::NewerCatalogue { path, found: *found, known: *known }
        }
        PostgresError::Url { what } => Error::option("catalogue", format!("not a URL of PostgreSQL: {what}")),
        PostgresError::Denied { place, what } => {
            Error::option("catalogue", format!("the server of {place} refuses: {what}"))
        }
        PostgresError::Foreign { place, schema } => Error::option(
            "catalogue",
            format!("the schema {schema:?} of {place} has tables that are not a catalogue of instep"),
        ),
        PostgresError::Missing { place } => Error::option("catalogue", format!("{place} has no such Source")),
        _ => {
            let shared = |error| CatalogueError::Postgres(error).into();
            Error::Catalogue {
                path,
                source: Arc::try_unwrap(error).map_or_else(shared, PostgresError::into_reason),
            }
        }
    }
}
