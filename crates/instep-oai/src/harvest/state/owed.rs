//! The records that were left out, as rows: the next harvests request them again.

use rusqlite::params;

use super::{super::HarvestError, HarvestState, kept::HarvestCommit};
use crate::response::RecordFault;

impl HarvestState {
    /// Returns the identifiers of records of a format that were left out, at most some of them, and the number of the others.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn owed(&self, format: &str, most: usize) -> rusqlite::Result<(Vec<String>, u64)> {
        let sql = "SELECT identifier FROM owed WHERE format = ?1 ORDER BY tried, identifier LIMIT ?2";
        let mut statement = self.connection.prepare(sql)?;
        let owed: Vec<String> =
            statement.query_map(params![format, most as i64], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let count = "SELECT count(*) FROM owed WHERE format = ?1";
        let all: i64 = self.connection.query_row(count, [format], |row| row.get(0))?;
        Ok((owed, all.unsigned_abs().saturating_sub(most as u64)))
    }
}

impl HarvestCommit<'_> {
    /// Records that a record was left out, behind all that wait already.
    ///
    /// # Errors
    /// If the state fails.
    pub(crate) fn owe(&self, format: &str, identifier: &str) -> Result<(), HarvestError> {
        if !identifier.is_empty() {
            let sql = "INSERT OR REPLACE INTO owed VALUES
                       (?1, ?2, (SELECT coalesce(max(tried), 0) + 1 FROM owed WHERE format = ?1))";
            self.connection.prepare_cached(sql)?.execute(params![format, identifier])?;
        }
        Ok(())
    }

    /// Records the damaged records of a part whose identifiers could be read.
    ///
    /// # Errors
    /// If the state fails.
    pub(crate) fn owe_damaged(&self, format: &str, faults: &[RecordFault]) -> Result<(), HarvestError> {
        let lost = faults.iter().filter(|fault| fault.is_lost);
        lost.filter_map(|fault| fault.identifier.as_deref())
            .try_for_each(|identifier| self.owe(format, identifier))
    }

    /// Returns `true` if a record was left out, and is requested again by each harvest.
    pub(super) fn is_owed(&self, format: &str, identifier: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM owed WHERE format = ?1 AND identifier = ?2)";
        self.connection.prepare_cached(sql)?.query_row(params![format, identifier], |row| row.get(0))
    }

    /// Records that a record is held, or gone.
    ///
    /// # Errors
    /// If the state fails.
    pub(crate) fn no_longer_owed(&self, format: &str, identifier: &str) -> Result<(), HarvestError> {
        let sql = "DELETE FROM owed WHERE format = ?1 AND identifier = ?2";
        self.connection.prepare_cached(sql)?.execute(params![format, identifier])?;
        Ok(())
    }
}
