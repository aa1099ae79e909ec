//! The transactions of the one connection that writes.

use instep_store::database::{Beside, compact};
use rusqlite::{Connection, params};

use super::{row::read_head, rows::FileRows};
use crate::catalogue::{
    CatalogueError, Head,
    counters::Counters,
    engine::{CatalogueTransaction, WriteCatalogue},
    error::Doing,
    ledger::ChangeLog,
    timeline::Timeline,
};

/// The connection that writes.
#[derive(Debug)]
pub(in crate::catalogue) struct FileWriter {
    connection: Connection,
    /// The file, if it was opened for reading; `None` if this is the writer. Dropped after the connection.
    _beside: Option<Beside>,
}

impl FileWriter {
    pub(super) fn new(connection: Connection, beside: Option<Beside>) -> Self {
        Self { connection, _beside: beside }
    }

    /// Commits. If that fails, nothing of the transaction stays.
    fn commit(&self, written: rusqlite::Result<()>) -> Result<(), CatalogueError> {
        let committed = written.and_then(|()| self.connection.execute_batch("COMMIT"));
        // SQLite rolls back after some errors only.
        if committed.is_err() && !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK").doing("rolling back")?;
        }
        committed.doing("committing")
    }
}

impl WriteCatalogue for FileWriter {
    fn transaction(
        &mut self,
        timeline: &Timeline,
        run: &mut dyn FnMut(&mut dyn CatalogueTransaction),
    ) -> Result<(), CatalogueError> {
        // `IMMEDIATE` takes the right to write at once: a transaction that begins by reading cannot write if another process
        // wrote in between.
        self.connection.execute_batch("BEGIN IMMEDIATE").doing("beginning a transaction")?;
        let head = read_head(&self.connection)?;
        let mut ledger = ChangeLog::new(FileRows::new(&self.connection), timeline, head);
        run(&mut ledger);
        let written = write_head(&self.connection, ledger.head, timeline.last());
        self.commit(written.and_then(|()| write_counters(&self.connection, &ledger.counters)))
    }

    fn compact(&mut self) -> Result<(u64, u64), CatalogueError> {
        compact(&self.connection).doing("compacting")
    }
}

fn write_head(connection: &Connection, head: Head, clock: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE head SET sequence = ?1, datetime = ?2, forgotten = ?3, revision = ?4, baselined = ?5,
             clock = ?6",
        )?
        .execute(params![
            head.sequence as i64,
            head.datetime.map(|datetime| datetime.unix_micros()),
            head.forgotten as i64,
            head.revision as i64,
            head.baselined as i64,
            clock,
        ])
        .map(drop)
}

fn write_counters(connection: &Connection, counters: &Counters) -> rusqlite::Result<()> {
    let mut add = connection.prepare_cached(
        "INSERT INTO tally VALUES (?1, ?2, ?3) ON CONFLICT (number) DO UPDATE
         SET resources = resources + excluded.resources, bytes = bytes + excluded.bytes",
    )?;
    for (number, tally) in counters.tallies() {
        add.execute(params![number, tally.resources, tally.bytes])?;
    }
    let Some(kept_from) = counters.kept_from() else { return Ok(()) };
    let mut add = connection.prepare_cached(
        "INSERT INTO activity VALUES (?1, ?2, ?3) ON CONFLICT (hour, kind) DO UPDATE
         SET changes = changes + excluded.changes",
    )?;
    for (hour, kind, changes) in counters.activity() {
        add.execute(params![hour, kind, changes])?;
    }
    connection.prepare_cached("DELETE FROM activity WHERE hour < ?1")?.execute([kept_from]).map(drop)
}
