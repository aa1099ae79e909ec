//! Connections for reading that are not in use.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use instep_store::database::open_reader;
use rusqlite::Connection;

use crate::catalogue::CatalogueError;

/// The part of the file that a reading connection keeps in memory, in KiB.
pub(super) const CACHE_KIB: u32 = 2_048;

/// Reading connections, kept for the next reader.
#[derive(Debug, Default)]
pub(super) struct IdleConnections(Mutex<Vec<Connection>>);

impl IdleConnections {
    pub(super) fn take(&self, path: &Path) -> Result<Connection, CatalogueError> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            Some(connection) => Ok(connection),
            None => open_reader(path, CACHE_KIB).map_err(CatalogueError::from),
        }
    }

    pub(super) fn give(&self, connection: Connection) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}
