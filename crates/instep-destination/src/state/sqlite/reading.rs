//! Read access to the state as a whole: further readers, and remaining intents and changes.

use std::sync::Arc;

use instep_store::database::open_reader;

use super::{READER_CACHE_KIB, SqliteState, changes, row};
use crate::{
    changes::CopyChange,
    records::operations,
    state::{CopyState, IntentId, Operation, ReadState, StateError},
};

impl ReadState for SqliteState {
    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn reader(&self) -> Result<Box<dyn ReadState>, StateError> {
        Ok(Box::new(match &self.beside {
            Some(beside) => Self::read(Arc::clone(beside))?,
            None => Self::over(open_reader(&self.path, READER_CACHE_KIB)?, &self.path),
        }))
    }

    fn intents(&self) -> Result<Vec<(IntentId, Vec<Operation>)>, StateError> {
        let read = || {
            self.connection
                .prepare("SELECT id, version, operations FROM intent ORDER BY id")?
                .query_map([], |row| {
                    let operations = operations::from_bytes(row.get(1)?, row.get_ref(2)?.as_bytes()?);
                    Ok((IntentId(row.get(0)?), operations.map_err(|error| row::unreadable(2, error))?))
                })?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|source| self.error(source))
    }

    fn changes(&self, limit: usize) -> Result<Vec<CopyChange>, StateError> {
        changes::first(&self.connection, limit).map_err(|source| self.error(source))
    }
}

impl CopyState for SqliteState {}
