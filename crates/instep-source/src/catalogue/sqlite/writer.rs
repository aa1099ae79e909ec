//! The transactions of the one connection that writes.

use instep_store::database::{Beside, compact};
use rusqlite::{Connection, params};

use super::{
    row::read_head,
    rows::{FileRows, still_open},
};
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
        let head = match read_head(&self.connection) {
            Ok(head) => head,
            Err(error) => {
                // Otherwise it would stay open, and no later one could begin (O434).
                self.connection.execute_batch("ROLLBACK").doing("rolling back")?;
                return Err(error);
            }
        };
        let mut ledger = ChangeLog::new(FileRows::new(&self.connection), timeline, head);
        run(&mut ledger);
        // If a fault has undone the transaction, its counts must not be written.
        still_open(&self.connection)?;
        let written = write_head(&self.connection, ledger.head, timeline.last());
        self.commit(written.and_then(|()| write_counters(&self.connection, &ledger.counters)))
    }

    fn compact(&mut self) -> Result<(u64, u64), CatalogueError> {
        compact(&self.connection).doing("compacting")
    }

    fn empty_log(&mut self) {
        // A fault of the disk is reported by the next transaction, or comes again when the file is closed.
        let _ = self.connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
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

#[cfg(test)]
mod tests {
    use resourcesync::Uri;

    use super::FileWriter;
    use crate::catalogue::{
        CatalogueError, Observation, Resource,
        engine::{CatalogueTransaction, WriteCatalogue as _},
        sqlite::schema,
        system_clock,
        timeline::Timeline,
    };

    fn keep(ledger: &mut dyn CatalogueTransaction, name: &str) -> Result<(), CatalogueError> {
        let value = [(name.to_owned(), Some(b"1".to_vec()))];
        ledger.attempt(&mut |ledger| ledger.set_meta(&value))
    }

    #[test]
    fn o434_a_fault_that_undoes_a_transaction_undoes_all_of_it_and_the_next_one_begins() {
        let folder = tempfile::tempdir().unwrap();
        let connection = schema::SCHEMA.open(&folder.path().join("catalogue.db")).unwrap();
        // SQLite itself does so on a full disk.
        let full = "CREATE TEMP TRIGGER no_room BEFORE INSERT ON main.meta WHEN NEW.name = 'full'
                    BEGIN SELECT RAISE(ROLLBACK, 'full'); END";
        connection.execute_batch(full).unwrap();
        let mut writer = FileWriter::new(connection, None);
        let timeline = Timeline::after(0, system_clock());
        let resource = Resource::new(b"\x01a".to_vec(), Uri::parse("http://x/a").unwrap());
        let found = [Observation::Found(resource)];
        let undone = writer.transaction(&timeline, &mut |ledger| {
            ledger.complete_baseline(1);
            ledger.attempt(&mut |ledger| ledger.record(&found).map(drop)).unwrap();
            let reason = keep(ledger, "full").unwrap_err();
            assert!(format!("{reason:?}").contains("full"), "{reason:?}");
            keep(ledger, "later").unwrap_err();
        });
        undone.unwrap_err();
        let count = |writer: &FileWriter, sql: &str| -> i64 {
            writer.connection.query_row(sql, [], |row| row.get(0)).unwrap()
        };
        for rows in ["resource", "change", "tally", "activity", "meta WHERE name = 'later'"] {
            assert_eq!(count(&writer, &format!("SELECT count(*) FROM {rows}")), 0, "{rows}");
        }
        assert_eq!(count(&writer, "SELECT sequence + baselined FROM head"), 0);

        writer.connection.execute_batch("ALTER TABLE head RENAME TO aside").unwrap();
        writer.transaction(&timeline, &mut |_| {}).unwrap_err();
        writer.connection.execute_batch("ALTER TABLE aside RENAME TO head").unwrap();
        writer.transaction(&timeline, &mut |ledger| keep(ledger, "later").unwrap()).unwrap();
        assert_eq!(count(&writer, "SELECT count(*) FROM meta WHERE name = 'later'"), 1);
    }
}
