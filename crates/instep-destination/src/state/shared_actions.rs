//! The part of a plan that is shared with other workers: its fetches in the order of their URIs, and the folders that their
//! paths need.

use rusqlite::OptionalExtension as _;

use super::{Action, Actions, StateError};

impl Actions {
    /// Returns the next fetches in the order of their URIs, after a URI and a sequence.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn fetches_after(
        &self,
        (uri, sequence): (&str, i64),
        limit: usize,
    ) -> Result<Vec<Action>, StateError> {
        self.index_uris()?;
        let condition = "(uri, sequence) > (?1, ?2) AND kind <= 2 ORDER BY uri, sequence LIMIT ?3";
        self.page(condition, (uri, sequence, limit as i64))
    }

    /// Removes actions from the list, because other workers may claim them from now on.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn give_away(&self, actions: &[Action]) -> Result<(), StateError> {
        let give_away = || {
            let mut statement = self.connection.prepare_cached("DELETE FROM action WHERE sequence = ?1")?;
            for action in actions {
                statement.execute([action.sequence])?;
                let bytes = action.desired.metadata.length.unwrap_or_default();
                self.recount(action.kind as usize, |(count, sum)| {
                    (count.saturating_sub(1), sum.saturating_sub(bytes))
                });
            }
            Ok(())
        };
        give_away().map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Begins a list of folders.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn begin_folders(&self) -> Result<(), StateError> {
        let sql = "DROP TABLE IF EXISTS folder; CREATE TABLE folder (path TEXT PRIMARY KEY) WITHOUT ROWID";
        self.connection.execute_batch(sql).map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Adds a folder to the list.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn add_folder(&self, path: &str) -> Result<(), StateError> {
        let added = self.connection.prepare_cached("INSERT OR IGNORE INTO folder VALUES (?1)");
        let added = added.and_then(|mut statement| statement.execute([path]));
        added.map(drop).map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Returns `true` if a path is that of a folder of the list.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn is_folder(&self, path: &str) -> Result<bool, StateError> {
        let found = self.connection.prepare_cached("SELECT 1 FROM folder WHERE path = ?1");
        let found = found.and_then(|mut statement| statement.query_row([path], |_| Ok(())).optional());
        found.map(|found| found.is_some()).map_err(|source| StateError::sqlite(&self.path, source))
    }
}
