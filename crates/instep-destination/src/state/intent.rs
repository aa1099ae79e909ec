//! The intent of a group: written before anything is moved, and taken back with what the group did, in one transaction.

use std::{collections::BTreeMap, time::Duration};

use instep_store::database::BUSY_TIMEOUT;
use resourcesync::{Change, DateTime, Link, Uri};
use rusqlite::{Connection, params};

use super::{
    Checkpoint, CopyState, DocumentRecord, Owed, ResourceMetadata, SetId, StateError, Waits, changes, codec,
    gone, held, owed, packs, sets,
};
use crate::records::operations::{self, Operation};

/// A group that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntentId(i64);

/// The changes of the state that are recorded together with a group, in the same transaction (invariant 5).
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The changes of pending retries, by set and URI; `None` removes one. The last change within a group counts (B24).
    /// Sets are apart: success for one set settles nothing for another (B16).
    pub(crate) debts: BTreeMap<(SetId, String), Option<Owed>>,
    pub(crate) refreshed: Vec<(Uri, ResourceMetadata)>,
    pub(crate) linked: Vec<(Uri, Vec<Link>)>,
    /// The held resources whose last modification is to be believed from now on, or not (O22).
    pub(crate) racy: BTreeMap<String, bool>,
    pub(crate) left: Vec<(Uri, SetId)>,
    pub(crate) gone: Vec<(Uri, SetId, DateTime)>,
    pub(crate) lost: Vec<String>,
    pub(crate) checkpoints: BTreeMap<SetId, Checkpoint>,
    pub(crate) documents: Vec<DocumentRecord>,
}

impl Ledger {
    /// Notes what is pending for a set.
    pub(crate) fn owe(&mut self, set: SetId, owed: Owed) {
        self.debts.insert((set, owed.desired.uri.as_str().to_owned()), Some(owed));
    }

    /// Notes that nothing is pending for a set any more.
    pub(crate) fn settle(&mut self, set: SetId, uri: &str) {
        // Kept as a removal: the group may hold a debt of before, and the state one of an earlier run.
        self.debts.insert((set, uri.to_owned()), None);
    }

    /// Forgets what was pending for a set within this group: a later version of the resource is committed with it.
    pub(crate) fn settle_if_owed(&mut self, set: SetId, uri: &str) {
        if !self.debts.is_empty()
            && let Some(debt) = self.debts.get_mut(&(set, uri.to_owned()))
        {
            *debt = None;
        }
    }

    /// Notes whether the last modification of bytes that get a name may be that of later ones too. A row that is placed is
    /// not, unless it is said here.
    pub(crate) fn note_racy(&mut self, uri: &str, is_racy: bool) {
        if is_racy {
            self.racy.insert(uri.to_owned(), true);
        } else if !self.racy.is_empty() {
            self.racy.remove(uri);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.debts.is_empty()
            && self.refreshed.is_empty()
            && self.linked.is_empty()
            && self.racy.is_empty()
            && self.left.is_empty()
            && self.gone.is_empty()
            && self.lost.is_empty()
            && self.checkpoints.is_empty()
            && self.documents.is_empty()
    }
}

impl CopyState {
    /// Writes down what a group is going to do; durable when this returns, unless durability is off.
    pub(crate) fn write_intent(&mut self, operations: &[Operation]) -> Result<IntentId, StateError> {
        let bytes = operations::to_bytes(operations).map_err(|error| self.error(codec::unwritable(error)))?;
        self.connection
            .execute(
                "INSERT INTO intent (version, operations) VALUES (?1, ?2)",
                params![operations::VERSION, bytes],
            )
            .map(|_| IntentId(self.connection.last_insert_rowid()))
            .map_err(|source| self.error(source))
    }

    /// Groups that were under way when the last run ended.
    pub(crate) fn intents(&self) -> Result<Vec<(IntentId, Vec<Operation>)>, StateError> {
        let read = || {
            self.connection
                .prepare("SELECT id, version, operations FROM intent ORDER BY id")?
                .query_map([], |row| {
                    let operations = operations::from_bytes(row.get(1)?, row.get_ref(2)?.as_bytes()?);
                    Ok((IntentId(row.get(0)?), operations.map_err(|error| codec::unreadable(2, error))?))
                })?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|source| self.error(source))
    }

    /// Takes a group over and forgets its intent. Only the last of a run need be durable: until the next intent is,
    /// the group's own intent has the same information for a start after a crash.
    pub(crate) fn commit_group<'o>(
        &mut self,
        intent: Option<IntentId>,
        done: impl Iterator<Item = &'o Operation>,
        ledger: &Ledger,
    ) -> Result<(), StateError> {
        let path = &self.path;
        let records_changes = self.records_changes;
        let connection = &mut self.connection;
        let commit = || {
            let transaction = connection.transaction()?;
            take_operations(&transaction, done, records_changes)?;
            take_ledger(&transaction, ledger)?;
            // In the same transaction: there is either the intent or what it came to.
            if let Some(IntentId(id)) = intent {
                transaction.execute("DELETE FROM intent WHERE id = ?1", [id])?;
            }
            transaction.commit()
        };
        commit().map_err(|source| StateError::sqlite(path, source))
    }

    /// Sets the waiting of further commits.
    pub(crate) fn set_waits(&mut self, waits: Waits) -> Result<(), StateError> {
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

    /// Folds the log back into the file, which makes all of it durable, and empties it: the next run need not read it
    /// again. Where somebody reads meanwhile it is folded, and left as it is.
    pub(crate) fn fold_log(&mut self) -> Result<(), StateError> {
        // A checkpoint waits for the disk in this mode, and with it for all that was written before.
        self.set_waits(Waits::Order)?;
        // Someone who reads may take long: a log that is not folded now is folded by the next run.
        self.connection.busy_timeout(Duration::ZERO).map_err(|source| self.error(source))?;
        let folded = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        let patient = self.connection.busy_timeout(BUSY_TIMEOUT);
        folded.and(patient).map_err(|source| self.error(source))
    }

    pub(super) fn next_id(&self) -> rusqlite::Result<i64> {
        next_id(&self.connection)
    }
}

fn next_id(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row(
        "SELECT COALESCE((SELECT value FROM counter WHERE name = 'next_id'), 1)",
        [],
        |row| row.get(0),
    )
}

fn take_operations<'o>(
    connection: &Connection,
    done: impl Iterator<Item = &'o Operation>,
    records_changes: bool,
) -> rusqlite::Result<()> {
    let mut id = next_id(connection)?;
    let mut rows = held::Putting::into(connection)?;
    // Mostly nothing is owed, and asking once spares a statement for each resource.
    let has_debts = connection.query_row("SELECT EXISTS (SELECT 1 FROM owed)", [], |row| row.get(0))?;
    let has_packs = connection.query_row("SELECT EXISTS (SELECT 1 FROM pack)", [], |row| row.get(0))?;
    for operation in done {
        let uri = operation.uri().as_str();
        if records_changes && matches!(operation, Operation::Remove { .. }) {
            // Before the row goes: the record of the change copies path and digests from it.
            changes::record(connection, &Change::Deleted, uri)?;
        }
        if has_packs && !matches!(operation, Operation::Move { .. }) {
            packs::leave(connection, uri)?;
        }
        match operation {
            Operation::Place { path, key, sets, metadata, place, .. } => {
                rows.put((uri, path.as_str(), key.as_deref()), (id, *sets), metadata)?;
                packs::settle(connection, uri, place)?;
                // A new resource counts as named by the list of this run, because numbers only grow (`Marks`). A row
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
            // After the row is there, for the same reason.
            let is_new = matches!(operation, Operation::Place { replaces: false, .. });
            changes::record(connection, if is_new { &Change::Created } else { &Change::Updated }, uri)?;
        }
        if has_debts && let Operation::Place { sets, .. } = operation {
            owed::clear(connection, *sets, uri)?;
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
        gone::put(connection, *set, uri, *time)?;
    }
    for uri in &ledger.lost {
        connection.prepare_cached("DELETE FROM held WHERE uri = ?1")?.execute([uri])?;
    }
    for ((set, uri), debt) in &ledger.debts {
        match debt {
            Some(debt) => owed::put(connection, *set, debt)?,
            None => owed::clear(connection, set.mask(), uri)?,
        }
    }
    // In the transaction of the debts of its entries: a crash between the two would pass entries that nobody retries
    // (invariant 5).
    for (set, checkpoint) in &ledger.checkpoints {
        sets::put_checkpoint(connection, *set, checkpoint)?;
    }
    for document in &ledger.documents {
        sets::put_document(connection, document)?;
    }
    Ok(())
}
