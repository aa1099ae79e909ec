use std::{io, path::PathBuf, sync::Arc};

use crate::Error;

/// What can go wrong with the catalogue.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The file cannot be opened or made.
    #[error("Cannot open the catalogue {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: Arc<rusqlite::Error>,
    },
    /// A later version of instep has written it.
    #[error(
        "The catalogue {} has schema {found}, this version knows {known}: use the version that wrote it",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest schema version known here.
        known: i64,
    },
    /// The file is a SQLite database of somebody else.
    #[error("{} is not a catalogue of instep", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The copy that precedes a migration cannot be written.
    #[error("Cannot back up the catalogue to {}", path.display())]
    Backup {
        /// The copy.
        path: PathBuf,
        /// What the file system says.
        #[source]
        source: Arc<io::Error>,
    },
    /// A statement failed.
    #[error("The catalogue failed while {doing}")]
    Sqlite {
        /// What was being done.
        doing: &'static str,
        /// What SQLite says.
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
    /// The thread that writes has ended.
    #[error("The catalogue is closed")]
    Closed,
}

impl CatalogueError {
    /// Whether the disk is full or fails, as opposed to what the file holds.
    pub fn is_storage(&self) -> bool {
        use rusqlite::ErrorCode;
        match self {
            Self::Open { source, .. } | Self::Sqlite { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::ReadOnly)
            ),
            Self::Backup { .. } => true,
            _ => false,
        }
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

impl From<CatalogueError> for Error {
    fn from(error: CatalogueError) -> Self {
        match error {
            CatalogueError::Newer { path, found, known } => {
                Self::NewerCatalogue { path, found: found as u32, known: known as u32 }
            }
            CatalogueError::Open { ref path, .. }
            | CatalogueError::Foreign { ref path }
            | CatalogueError::Backup { ref path, .. } => {
                Self::Catalogue { path: path.clone(), source: Box::new(error) }
            }
            CatalogueError::Sqlite { .. } | CatalogueError::Damaged { .. } | CatalogueError::Closed => {
                Self::Catalogue { path: PathBuf::new(), source: Box::new(error) }
            }
        }
    }
}
