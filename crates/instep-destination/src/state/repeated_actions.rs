//! The actions of a plan for resources that several parts of an inventory name.

use super::{Action, Actions, StateError};

impl Actions {
    /// Returns the next URIs after one, in their order, that have several actions.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn repeated_after(&self, uri: &str, limit: usize) -> Result<Vec<String>, StateError> {
        self.index_uris()?;
        let repeated = || {
            let sql = "SELECT uri FROM action WHERE uri > ?1 GROUP BY uri HAVING COUNT(*) > 1 ORDER BY uri LIMIT ?2";
            self.connection
                .prepare_cached(sql)?
                .query_map((uri, limit as i64), |row| row.get(0))?
                .collect::<rusqlite::Result<Vec<String>>>()
        };
        repeated().map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Returns all actions for a URI, in their order.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn all_for_uri(&self, uri: &str) -> Result<Vec<Action>, StateError> {
        self.index_uris()?;
        self.page("uri = ?1 ORDER BY sequence", [uri])
    }
}
