//! Records that one list has twice, as when they change while it is read: the newer state counts, also if it is that the
//! record was deleted.

use rusqlite::{OptionalExtension as _, params};

use super::kept::{HarvestCommit, HeldRow};
use crate::{datestamp::seconds, response::OaiRecord};

impl HeldRow {
    /// Returns `true` if the list `run` brought this state, and `record` is an older one.
    pub(super) fn is_newer_than(&self, record: &OaiRecord, run: i64) -> bool {
        self.run == run && is_older(record, &self.datestamp)
    }
}

impl HarvestCommit<'_> {
    pub(super) fn held(&self, path: &str) -> rusqlite::Result<Option<HeldRow>> {
        let sql =
            "SELECT digest, coalesce(datestamp, ''), coalesce(sets, ''), run FROM resource WHERE path = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([path])?;
        let read = |row: &rusqlite::Row<'_>| {
            Ok(HeldRow { digest: row.get(0)?, datestamp: row.get(1)?, sets: row.get(2)?, run: row.get(3)? })
        };
        rows.next()?.map(read).transpose()
    }

    /// Returns `true` if the list `run` had the deletion of a record before, of a later time than this state.
    pub(super) fn was_deleted_later(
        &self,
        format: &str,
        record: &OaiRecord,
        run: i64,
    ) -> rusqlite::Result<bool> {
        let sql = "SELECT datestamp FROM deleted WHERE format = ?1 AND identifier = ?2 AND run = ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let deleted: Option<String> =
            statement.query_row(params![format, record.identifier, run], |row| row.get(0)).optional()?;
        Ok(deleted.is_some_and(|at| is_older(record, &at)))
    }

    /// Notes that the list `run` has the deletion of a record.
    pub(super) fn note_deletion(&self, format: &str, record: &OaiRecord, run: i64) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO deleted VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![format, record.identifier, run, record.datestamp])?;
        Ok(())
    }

    /// Forgets the deletions of a list at its end: later lists are of later states.
    ///
    /// # Errors
    /// If the state fails.
    pub(crate) fn forget_deletions(&self, format: &str) -> rusqlite::Result<()> {
        self.connection.execute("DELETE FROM deleted WHERE format = ?1", [format])?;
        Ok(())
    }
}

fn is_older(record: &OaiRecord, than: &str) -> bool {
    seconds(than).is_some_and(|at| seconds(&record.datestamp) < Some(at))
}
