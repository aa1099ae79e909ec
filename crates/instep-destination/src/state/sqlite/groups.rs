//! The transactions of a group: its intent, written before any file is moved, and removed together with the record of
//! the group's results.

use std::time::Duration;

use instep_store::database::BUSY_TIMEOUT;
use resourcesync::{Change, DateTime, Uri};
use rusqlite::{Connection, params};

use super::{SqliteState, changes, followed, held, held_row, packs, pending, records::put_setting, row};
use crate::{
    records::operations,
    state::{IntentId, Ledger, Operation, SetId, StateError, Waits, WriteGroups},
};

impl WriteGroups for SqliteState {
    fn write_intent(&mut self, operations: &[Operation]) -> Result<IntentId, StateError> {
        let bytes = operations::to_bytes(operations).map_err(|error| self.error(row::unwritable(error)))?;
        self.connection
            .execute(
                "INSERT INTO intent (version, operations) VALUES (?1, ?2)",
                params![operations::VERSION, bytes],
            )
            .map(|_| IntentId(self.connection.last_insert_rowid()))
            .map_err(|source| self.error(source))
    }

    fn commit_group(
        &mut self,
        intent: Option<IntentId>,
        done: &[&[Operation]],
        ledger: &Ledger,
    ) -> Result<(), StateError> {
        let path = &self.path;
        let records_changes = self.records_changes;
        let connection = &mut self.connection;
        let mut commit = || {
            let transaction = connection.transaction()?;
            take_operations(&transaction, done, records_changes)?;
            take_ledger(&transaction, ledger)?;
            // The intent is removed in the same transaction, so that there is either the intent or its result.
            if let Some(IntentId(id)) = intent {
                transaction.execute("DELETE FROM intent WHERE id = ?1", [id])?;
            }
            transaction.commit()
        };
        commit().map_err(|source| StateError::sqlite(path, source))
    }

    fn set_waits(&mut self, waits: Waits) -> Result<(), StateError> {
        if self.waits == Some(waits) {
            return Ok(());
        }
        self.waits = Some(waits);
        let value = match waits {
            Waits::Disk => "full",
            Waits::Order => "normal",
            Waits::Nothing => "off",
        };
        self.connection.pragma_update(None, "synchronous", value).map_err(|source| self.error(source))
    }

    fn make_durable(&mut self) -> Result<(), StateError> {
        // In this mode a checkpoint waits for the disk, and so makes everything durable that was written before.
        self.set_waits(Waits::Order)?;
        // A reader may take a long time. If the log cannot be merged now, the next run does it.
        self.connection.busy_timeout(Duration::ZERO).map_err(|source| self.error(source))?;
        let folded = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
        let patient = self.connection.busy_timeout(BUSY_TIMEOUT);
        let is_busy: bool =
            folded.and_then(|busy| patient.map(|()| busy)).map_err(|source| self.error(source))?;
        if !is_busy {
            return Ok(());
        }
        // A checkpoint that a reader stops need not have waited for the disk. A commit that does so makes the log durable,
        // with everything before it. The value changes each time, because SQLite does not write one that stays.
        self.set_waits(Waits::Disk)?;
        let sql = "INSERT INTO counter (name, value) VALUES ('waits', 1)
                   ON CONFLICT (name) DO UPDATE SET value = value + 1";
        self.connection.execute(sql, []).map(drop).map_err(|source| self.error(source))
    }

    fn join(&mut self, set: SetId, uris: &[Uri]) -> Result<(), StateError> {
        let mut join = || {
            let transaction = self.connection.transaction()?;
            {
                let mut statement =
                    transaction.prepare_cached("UPDATE held SET sets = sets | ?2 WHERE uri = ?1")?;
                for uri in uris {
                    statement.execute((uri.as_str(), set.mask()))?;
                }
            }
            transaction.commit()
        };
        join().map_err(|source| StateError::sqlite(&self.path, source))
    }

    fn forget_deletions(&mut self, set: SetId, inventory: DateTime) -> Result<(), StateError> {
        self.connection
            // A deletion at the exact time of the inventory stays, because the inventory may have been made just before
            // it.
            .execute("DELETE FROM gone WHERE set_id = ?1 AND micros < ?2", (set.0, inventory.unix_micros()))
            .map(drop)
            .map_err(|source| self.error(source))
    }

    fn forget_old_deletions(&mut self, set: SetId, before: DateTime) -> Result<(), StateError> {
        let sql = "DELETE FROM gone WHERE set_id = ?1 AND micros < ?2
                   AND NOT EXISTS (SELECT 1 FROM held WHERE held.uri = gone.uri)";
        let forgotten = self.connection.execute(sql, (set.0, before.unix_micros()));
        forgotten.map(drop).map_err(|source| self.error(source))
    }

    fn record_changes(&mut self) {
        self.records_changes = true;
    }

    fn forget_changes(&mut self, last: i64) -> Result<(), StateError> {
        self.connection
            // This comes after the sink has received them: after a crash in between they are delivered twice, and none
            // is lost.
            .prepare_cached("DELETE FROM change WHERE sequence <= ?1")
            .and_then(|mut statement| statement.execute([last]))
            .map(|_| ())
            .map_err(|source| self.error(source))
    }
}

fn take_operations(
    connection: &Connection,
    done: &[&[Operation]],
    records_changes: bool,
) -> rusqlite::Result<()> {
    let mut id = held_row::next_id(connection)?;
    let mut rows = held::Putting::into(connection)?;
    // Usually nothing is pending, and one query saves a statement for each resource.
    let has_debts = connection.query_row("SELECT EXISTS (SELECT 1 FROM owed)", [], |row| row.get(0))?;
    let has_packs = connection.query_row("SELECT EXISTS (SELECT 1 FROM pack)", [], |row| row.get(0))?;
    for operation in done.iter().copied().flatten() {
        let uri = operation.uri().as_str();
        if records_changes && matches!(operation, Operation::Remove { .. }) {
            // The change is recorded before the row is removed, because it copies path and digests from it.
            changes::record(connection, &Change::Deleted, uri)?;
        }
        if has_packs && !matches!(operation, Operation::Move { .. }) {
            packs::leave(connection, uri)?;
        }
        match operation {
            Operation::Place { path, key, sets, metadata, place, .. } => {
                rows.put((uri, path.as_str(), key.as_deref()), (id, *sets), metadata)?;
                packs::settle(connection, uri, place)?;
                // A new resource counts as named by the list of this run, because numbers only grow (`RowSet`). A row
                // that is replaced keeps its own.
                id += 1;
            }
            Operation::Remove { .. } => {
                connection.prepare_cached("DELETE FROM held WHERE uri = ?1")?.execute([uri])?;
            }
            Operation::Move { to, .. } => {
                connection
                    .prepare_cached("UPDATE held SET name = COALESCE(name, path), path = ?2 WHERE uri = ?1")?
                    .execute([uri, to.as_str()])?;
            }
        }
        if records_changes && !matches!(operation, Operation::Remove { .. }) {
            // The change is recorded after the row is written, for the same reason.
            let is_new = matches!(operation, Operation::Place { replaces: false, .. });
            changes::record(connection, if is_new { &Change::Created } else { &Change::Updated }, uri)?;
        }
        if has_debts && let Operation::Place { sets, .. } = operation {
            pending::clear(connection, *sets, uri)?;
        }
    }
    connection.execute("INSERT OR REPLACE INTO counter (name, value) VALUES ('next_id', ?1)", [id])?;
    Ok(())
}

fn take_ledger(connection: &Connection, ledger: &Ledger) -> rusqlite::Result<()> {
    for (uri, metadata) in &ledger.refreshed {
        held::refresh(connection, uri, metadata)?;
    }
    for (uri, links) in &ledger.linked {
        held::link(connection, uri, links)?;
    }
    for (uri, is_racy) in &ledger.racy {
        held::set_racy(connection, uri, *is_racy)?;
    }
    for (uri, set) in &ledger.left {
        connection
            .prepare_cached("UPDATE held SET sets = sets & ~?2 WHERE uri = ?1")?
            .execute(params![uri.as_str(), set.mask()])?;
    }
    for (uri, set, time) in &ledger.gone {
        pending::put_gone(connection, *set, uri, *time)?;
    }
    for (uri, set) in &ledger.returned {
        connection
            .prepare_cached("DELETE FROM gone WHERE set_id = ?1 AND uri = ?2")?
            .execute(params![set.0, uri.as_str()])?;
    }
    for uri in &ledger.lost {
        packs::leave(connection, uri)?;
        connection.prepare_cached("DELETE FROM held WHERE uri = ?1")?.execute([uri])?;
    }
    for ((set, uri), debt) in &ledger.debts {
        match debt {
            Some(debt) => pending::put(connection, *set, debt)?,
            None => pending::clear(connection, set.mask(), uri)?,
        }
    }
    // Checkpoints are written in the transaction with the pending retries. A crash in between would make the checkpoint
    // pass entries that are never retried (invariant 5).
    for (set, checkpoint) in &ledger.checkpoints {
        followed::put_checkpoint(connection, *set, checkpoint)?;
    }
    for (name, text) in &ledger.settings {
        put_setting(connection, name, text)?;
    }
    for document in &ledger.documents {
        followed::put_document(connection, document)?;
    }
    packs::take(connection, &ledger.packs, &ledger.repacked)
}
