//! Reasons why the catalogue cannot be used.

use std::{path::PathBuf, sync::Arc};

use instep_store::database::{DatabaseError, is_storage_failure};

use crate::Error;

/// A catalogue that cannot be used, or a statement on it that failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The file cannot be opened, or is another program's or a newer version's.
    #[error(transparent)]
    Database(Arc<DatabaseError>),
    /// A statement failed.
    #[error("The catalogue failed while {doing}")]
    Sqlite {
        /// The work that failed.
        doing: &'static str,
        /// The reason that SQLite gives.
        #[source]
        source: Arc<rusqlite::Error>,
    },
    /// A row does not hold what instep writes.
    #[error("The catalogue is damaged: {what} of {uri}")]
    Damaged {
        /// The column.
        what: &'static str,
        /// The row.
        uri: String,
    },
    /// A record does not hold what any version of instep writes.
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
    /// The thread that writes has ended.
    #[error("The catalogue is closed")]
    Closed,
}

impl CatalogueError {
    /// Returns `true` if the disk is full or fails, as opposed to what the file holds.
    pub fn is_storage(&self) -> bool {
        match self {
            Self::Database(error) => error.is_storage_failure(),
            Self::Sqlite { source, .. } => is_storage_failure(source),
            Self::Damaged { .. } | Self::Record { .. } | Self::Closed => false,
        }
    }
}

impl From<DatabaseError> for CatalogueError {
    fn from(error: DatabaseError) -> Self {
        Self::Database(Arc::new(error))
    }
}

/// Names what was being done when SQLite failed.
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
            CatalogueError::Sqlite { .. } | CatalogueError::Damaged { .. } | CatalogueError::Closed => {
                Self::Catalogue { path: PathBuf::new(), source: Box::new(error) }
            }
        }
    }
}
