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

/// The most connections that are kept: a burst of requests must not hold their memory and files for ever.
const MOST: usize = 16;

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
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MOST {
            kept.push(connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o494_connections_of_a_burst_of_readers_are_closed_but_for_a_few() {
        let idle = IdleConnections::default();
        for _ in 0..100 {
            idle.give(Connection::open_in_memory().unwrap());
        }
        assert_eq!(idle.0.lock().unwrap().len(), MOST);
    }
}
