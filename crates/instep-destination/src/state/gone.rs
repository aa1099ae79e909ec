//! Deletions that changes named, kept until an inventory is applied that is later than they are: one that is older
//! names what is gone, and the lists that said so may be gone as well.

use resourcesync::{DateTime, Uri};
use rusqlite::{Connection, OptionalExtension as _};

use super::{CopyState, SetId, StateError};

impl CopyState {
    /// Returns when a set's resource was deleted. `None` if that is not known, or older than the inventory that was
    /// applied.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn gone(&self, set: SetId, uri: &str) -> Result<Option<DateTime>, StateError> {
        let micros = || {
            self.connection
                .prepare_cached("SELECT micros FROM gone WHERE set_id = ?1 AND uri = ?2")?
                .query_row((set.0, uri), |row| row.get(0))
                .optional()
        };
        let micros = micros().map_err(|source| self.error(source))?;
        Ok(micros.map(DateTime::from_unix_micros))
    }

    /// Returns `true` if any deletion of a set is kept.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn keeps_deletions(&self, set: SetId) -> Result<bool, StateError> {
        self.connection
            .query_row("SELECT EXISTS (SELECT 1 FROM gone WHERE set_id = ?1)", [set.0], |row| row.get(0))
            .map_err(|source| self.error(source))
    }

    /// Forgets the deletions of a set before the time of an inventory that was applied.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub(crate) fn forget_deletions(&mut self, set: SetId, inventory: DateTime) -> Result<(), StateError> {
        self.connection
            // A deletion of the very moment of the inventory stays: the inventory may have been made just before it.
            .execute("DELETE FROM gone WHERE set_id = ?1 AND micros < ?2", (set.0, inventory.unix_micros()))
            .map(drop)
            .map_err(|source| self.error(source))
    }
}

pub(super) fn put(connection: &Connection, set: SetId, uri: &Uri, time: DateTime) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO gone (uri, set_id, micros) VALUES (?1, ?2, ?3)")?
        .execute((uri.as_str(), set.0, time.unix_micros()))?;
    Ok(())
}
