//! Changes of the state that a plan implies without a transfer: rows of the plan too, so that memory does not grow with
//! their number.

use super::{ActionKind, Actions, Owed, StateError};

/// A change of the state that needs no action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanNote {
    /// A held resource of other sets belongs to this set too.
    Joins,
    /// The resource is current, or the Source has it no more: its pending retry is dropped with the checkpoint.
    Settled,
    /// A pending resource is listed by the inventory.
    Listed = 2,
    /// A held resource whose deletion was kept exists again.
    Returned = 3,
}

impl Actions {
    /// The table, empty.
    pub(super) const NOTES: &str =
        "CREATE TABLE note (sequence INTEGER PRIMARY KEY, kind INTEGER NOT NULL, uri TEXT NOT NULL);
         CREATE INDEX note_of ON note (kind, uri) WHERE kind >= 2;";

    /// Notes a resource.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn add_note(&self, note: PlanNote, uri: &str) -> Result<(), StateError> {
        let sql = "INSERT INTO note (kind, uri) VALUES (?1, ?2)";
        let noted =
            self.connection.prepare_cached(sql).and_then(|mut insert| insert.execute((note as u8, uri)));
        noted.map(|_| ()).map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Returns the next resources that were noted, each with its sequence.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn notes_after(
        &self,
        note: PlanNote,
        sequence: i64,
        limit: usize,
    ) -> Result<Vec<(i64, String)>, StateError> {
        let page = || {
            self.connection
                .prepare_cached(
                    "SELECT sequence, uri FROM note WHERE kind = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3",
                )?
                .query_map((note as u8, sequence, limit as i64), |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        page().map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Returns the number of resources that were noted, each counted once.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn count_noted(&self, note: PlanNote) -> Result<u64, StateError> {
        let sql = "SELECT COUNT(DISTINCT uri) FROM note WHERE kind = ?1";
        let count = self.connection.query_row(sql, [note as u8], |row| row.get::<_, i64>(0));
        count.map(i64::cast_unsigned).map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Forgets a note of a resource.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn forget_note(&self, note: PlanNote, uri: &str) -> Result<(), StateError> {
        let sql = "DELETE FROM note WHERE kind = ?1 AND uri = ?2 AND kind >= 2";
        let forgotten =
            self.connection.prepare_cached(sql).and_then(|mut delete| delete.execute((note as u8, uri)));
        forgotten.map(|_| ()).map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Returns `true` if a resource was noted as [`PlanNote::Listed`].
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn is_listed(&self, uri: &str) -> Result<bool, StateError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM note WHERE kind = 2 AND uri = ?1)";
        let noted = self.connection.prepare_cached(sql);
        let noted = noted.and_then(|mut find| find.query_row([uri], |row| row.get(0)));
        noted.map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Returns the sequence of the last resource that was noted; zero if there is none.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn last_note(&self) -> Result<i64, StateError> {
        self.connection
            .query_row("SELECT COALESCE(MAX(sequence), 0) FROM note", [], |row| row.get(0))
            .map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Forgets the resources that were noted after a sequence.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn forget_notes_after(&self, sequence: i64) -> Result<(), StateError> {
        let forgotten = self.connection.execute("DELETE FROM note WHERE sequence > ?1", [sequence]);
        forgotten.map(|_| ()).map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Adds a resource to be recorded as pending, with the fault.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn push_owed(&mut self, owed: &Owed) -> Result<(), StateError> {
        self.pushing()?.push(ActionKind::Owe, &owed.desired)?;
        let sql = "UPDATE action SET fault = ?1 WHERE sequence = last_insert_rowid()";
        let noted = self.connection.prepare_cached(sql).and_then(|mut note| note.execute([&owed.why]));
        noted.map(|_| ()).map_err(|source| StateError::sqlite(&self.path, source))
    }

    /// Returns the fault of a pending resource; empty without one.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn fault_of(&self, sequence: i64) -> Result<String, StateError> {
        let sql = "SELECT COALESCE(fault, '') FROM action WHERE sequence = ?1";
        let read = self.connection.prepare_cached(sql);
        let read = read.and_then(|mut statement| statement.query_row([sequence], |row| row.get(0)));
        read.map_err(|source| StateError::sqlite(&self.path, source))
    }
}
