//! The transactions of a group: its intent, written before any file is moved, and removed together with the record of
//! the group's results. The rows of many resources are written with one statement.

use std::collections::BTreeSet;

use instep_postgres::{EngineFault, Session};
use resourcesync::{Change, DateTime, Uri};

use super::{
    LONGEST_URI, PostgresState, changes, copy_table::CopyTable, followed_row, held, known::RememberedRows,
    packs, pending, row, slices,
};
use crate::{
    records::operations,
    state::{IntentId, Ledger, Operation, ReadPending as _, SetId, StateError, Waits, WriteGroups},
};

impl WriteGroups for PostgresState {
    fn write_intent(&mut self, operations: &[Operation]) -> Result<IntentId, StateError> {
        let bytes = operations::to_bytes(operations).map_err(|error| self.link.error(row::value(error)))?;
        let version = i64::from(operations::VERSION);
        let sql = "INSERT INTO intent (copy, version, operations) VALUES ($1, $2, $3) RETURNING id";
        self.write(|session, copy| Ok(IntentId(session.one(sql, &[&copy, &version, &bytes])?.try_get(0)?)))
    }

    fn commit_group(
        &mut self,
        intent: Option<IntentId>,
        done: &[&[Operation]],
        ledger: &Ledger,
    ) -> Result<(), StateError> {
        let (records_changes, share) = (self.records_changes, self.share);
        self.known.iter().for_each(|known| note_tables(known, done, ledger));
        let leaves_packs = self.write(|session, copy| {
            let leaves_packs = take_operations(session, copy, done, records_changes)?;
            take_ledger(session, copy, ledger)?;
            slices::take(session, share, done, ledger)?;
            slices::refuse_to_pass(session, copy, &ledger.checkpoints)?;
            // The intent is removed in the same transaction, so that there is either the intent or its result.
            if let Some(IntentId(id)) = intent {
                session.execute("DELETE FROM intent WHERE copy = $1 AND id = $2", &[&copy, &id])?;
            }
            Ok(leaves_packs)
        })?;
        if let Some(known) = &self.known {
            ledger.settings.iter().for_each(|(name, text)| known.put_setting(name, text));
            ledger.checkpoints.iter().for_each(|(set, checkpoint)| known.put_checkpoint(*set, checkpoint));
            if leaves_packs || !ledger.repacked.is_empty() || !ledger.lost.is_empty() {
                known.note_left_packs();
            }
        }
        Ok(())
    }

    fn set_waits(&mut self, _: Waits) -> Result<(), StateError> {
        // Each commit waits for the disk: after a restart the server must have everything that this run, which
        // continues, considers committed.
        Ok(())
    }

    fn make_durable(&mut self) -> Result<(), StateError> {
        if self.unwritten.is_empty() { Ok(()) } else { self.write(|_, _| Ok(())) }
    }

    fn join(&mut self, set: SetId, uris: &[Uri]) -> Result<(), StateError> {
        let uris: Vec<_> = uris.iter().map(Uri::as_str).collect();
        let sql = "UPDATE held SET sets = sets | $3 WHERE copy = $1 AND uri = ANY($2)";
        self.write(|session, copy| session.execute(sql, &[&copy, &uris, &set.mask()]).map(drop))
    }

    fn forget_deletions(&mut self, set: SetId, inventory: DateTime) -> Result<(), StateError> {
        if !self.keeps_deletions(set)? {
            return Ok(());
        }
        let sql = "DELETE FROM gone WHERE copy = $1 AND set_id = $2 AND micros < $3";
        let (set, micros) = (i64::from(set.0), inventory.unix_micros());
        self.write(|session, copy| session.execute(sql, &[&copy, &set, &micros]).map(drop))
    }

    fn forget_old_deletions(&mut self, set: SetId, before: DateTime) -> Result<(), StateError> {
        if !self.keeps_deletions(set)? {
            return Ok(());
        }
        let sql = "DELETE FROM gone WHERE copy = $1 AND set_id = $2 AND micros < $3
                   AND NOT EXISTS (SELECT 1 FROM held WHERE held.copy = gone.copy AND held.uri = gone.uri)";
        let (set, micros) = (i64::from(set.0), before.unix_micros());
        self.write(|session, copy| session.execute(sql, &[&copy, &set, &micros]).map(drop))
    }

    fn record_changes(&mut self) {
        self.records_changes = true;
    }

    fn forget_changes(&mut self, last: i64) -> Result<(), StateError> {
        let sql = "DELETE FROM change WHERE copy = $1 AND sequence <= $2";
        self.write(|session, copy| session.execute(sql, &[&copy, &last]).map(drop))
    }
}

/// Remembers the tables that a group writes rows to.
fn note_tables(known: &RememberedRows, done: &[&[Operation]], ledger: &Ledger) {
    let written = [
        (CopyTable::Held, done.iter().any(|operations| !operations.is_empty())),
        (CopyTable::Owed, ledger.debts.values().any(|debt| debt.is_some())),
        (CopyTable::Gone, !ledger.gone.is_empty()),
        (CopyTable::Document, !ledger.documents.is_empty()),
    ];
    written.into_iter().filter(|(_, is_written)| *is_written).for_each(|(table, _)| known.note_rows(table));
}

/// Records operations. Returns `true` if parts of objects may be unused now.
fn take_operations(
    session: &Session,
    copy: i64,
    done: &[&[Operation]],
    records_changes: bool,
) -> Result<bool, EngineFault> {
    if done.iter().all(|operations| operations.is_empty()) {
        return Ok(false);
    }
    let mut leaves_packs = false;
    // Usually nothing is pending, and one query saves a statement for each series of files.
    let sql = "SELECT next_id, EXISTS (SELECT 1 FROM owed WHERE copy = $1), EXISTS (SELECT 1 FROM pack WHERE copy = $1)
               FROM copy WHERE id = $1";
    let row = session.one(sql, &[&copy])?;
    let first: i64 = row.try_get(0)?;
    let mut id = first;
    let (has_debts, has_packs): (bool, bool) = (row.try_get(1)?, row.try_get(2)?);
    let all: Vec<&Operation> = done.iter().copied().flatten().collect();
    let mut rest = &all[..];
    while let Some(first) = rest.first() {
        let (run, behind) = rest.split_at(alike(rest));
        rest = behind;
        let uris: Vec<_> = run.iter().map(|operation| operation.uri().as_str()).collect();
        let removes = matches!(first, Operation::Remove { .. });
        if has_packs && removes {
            packs::leave(session, copy, &uris)?;
            leaves_packs = true;
        }
        // Deletions are recorded before the rows are removed, because they copy path and digests from them.
        if records_changes && removes {
            record_changes(session, copy, run)?;
        }
        match first {
            Operation::Place { .. } => {
                leaves_packs |= place(session, copy, (id, run), has_packs)?;
                // A new resource counts as named by the list of this run, because numbers only grow (`RowSet`). A row
                // that is replaced keeps its own.
                id += run.len() as i64;
                if has_debts {
                    clear_debts(session, copy, run)?;
                }
            }
            Operation::Remove { .. } => {
                session.execute("DELETE FROM held WHERE copy = $1 AND uri = ANY($2)", &[&copy, &uris])?;
            }
            Operation::Move { .. } => move_all(session, copy, run)?,
        }
        if records_changes && !removes {
            record_changes(session, copy, run)?;
        }
    }
    if id != first {
        session.execute("UPDATE copy SET next_id = $2 WHERE id = $1", &[&copy, &id])?;
    }
    Ok(leaves_packs)
}

/// Records operations as changes of the copy.
fn record_changes(session: &Session, copy: i64, run: &[&Operation]) -> Result<(), EngineFault> {
    let change = |operation: &Operation| match operation {
        Operation::Place { replaces: false, .. } => Change::Created,
        Operation::Remove { .. } => Change::Deleted,
        _ => Change::Updated,
    };
    let changed: Vec<_> = run.iter().map(|one| (one.uri().as_str(), change(one))).collect();
    changes::record(session, copy, &changed)
}

/// Places resources. In a copy with objects, resources that replace nothing are first tried as new rows, so that unused
/// parts of objects are looked for only if rows exist. Returns `true` if they were looked for.
fn place(
    session: &Session,
    copy: i64,
    (first, run): (i64, &[&Operation]),
    has_packs: bool,
) -> Result<bool, EngineFault> {
    let is_new = run.iter().all(|operation| matches!(operation, Operation::Place { replaces: false, .. }));
    let held = if has_packs && is_new { held::put_new(session, copy, first, run)? } else { run.to_vec() };
    if held.is_empty() {
        return Ok(false);
    }
    if has_packs {
        let uris: Vec<_> = held.iter().map(|operation| operation.uri().as_str()).collect();
        packs::leave(session, copy, &uris)?;
    }
    held::put(session, copy, first, &held)?;
    Ok(has_packs)
}

/// Returns the number of operations at the start that are of one kind and about different resources, so that one
/// statement can record them.
fn alike(operations: &[&Operation]) -> usize {
    let mut uris = BTreeSet::new();
    let kind = |operation: &Operation| std::mem::discriminant(operation);
    let first = operations.first().map(|first| kind(first));
    operations
        .iter()
        .take_while(|operation| Some(kind(operation)) == first && uris.insert(operation.uri().as_str()))
        .count()
}

fn clear_debts(session: &Session, copy: i64, run: &[&Operation]) -> Result<(), EngineFault> {
    let placed = run.iter().filter_map(|operation| match operation {
        Operation::Place { uri, sets, .. } => Some((uri.as_str(), *sets)),
        _ => None,
    });
    let (uris, masks): (Vec<_>, Vec<_>) = placed.unzip();
    pending::clear(session, copy, &uris, &masks)
}

fn move_all(session: &Session, copy: i64, run: &[&Operation]) -> Result<(), EngineFault> {
    let moved = run.iter().filter_map(|operation| match operation {
        Operation::Move { uri, to, .. } => Some((uri.as_str(), to.as_str())),
        _ => None,
    });
    let (uris, paths): (Vec<_>, Vec<_>) = moved.unzip();
    let sql = "UPDATE held h SET name = COALESCE(h.name, h.path), path = m.path
               FROM unnest($2::text[], $3::text[]) AS m(uri, path) WHERE h.copy = $1 AND h.uri = m.uri";
    session.execute(sql, &[&copy, &uris, &paths])?;
    Ok(())
}

fn take_ledger(session: &Session, copy: i64, ledger: &Ledger) -> Result<(), EngineFault> {
    if !ledger.refreshed.is_empty() {
        held::refresh(session, copy, &ledger.refreshed)?;
    }
    if !ledger.linked.is_empty() {
        held::link(session, copy, &ledger.linked)?;
    }
    if !ledger.racy.is_empty() {
        held::set_racy(session, copy, &ledger.racy)?;
    }
    for (uri, set) in &ledger.left {
        let sql = "UPDATE held SET sets = sets & ~$3::bigint WHERE copy = $1 AND uri = $2";
        session.execute(sql, &[&copy, &uri.as_str(), &set.mask()])?;
    }
    if !ledger.gone.is_empty() {
        pending::put_gone(session, copy, &ledger.gone)?;
    }
    for (uri, set) in &ledger.returned {
        let sql = "DELETE FROM gone WHERE copy = $1 AND set_id = $2 AND uri = $3";
        session.execute(sql, &[&copy, &i64::from(set.0), &uri.as_str()])?;
    }
    if !ledger.lost.is_empty() {
        let lost: Vec<_> = ledger.lost.iter().map(String::as_str).collect();
        packs::leave(session, copy, &lost)?;
        session.execute("DELETE FROM held WHERE copy = $1 AND uri = ANY($2)", &[&copy, &lost])?;
    }
    let (mut owed, mut uris, mut masks) = (Vec::new(), Vec::new(), Vec::new());
    for ((set, uri), debt) in &ledger.debts {
        match debt {
            Some(debt) => owed.push((*set, debt)),
            None => {
                uris.push(uri.as_str());
                masks.push(set.mask());
            }
        }
    }
    pending::put(session, copy, &owed)?;
    pending::clear(session, copy, &uris, &masks)?;
    // Checkpoints are written in the transaction with the pending retries. A crash in between would make the checkpoint
    // pass entries that are never retried (invariant 5).
    for (set, checkpoint) in &ledger.checkpoints {
        followed_row::put_checkpoint(session, copy, *set, checkpoint)?;
    }
    followed_row::put_settings(session, copy, &ledger.settings)?;
    // A document with a longer URI is not recorded, and each run reads it again.
    for document in ledger.documents.iter().filter(|one| one.uri.as_str().len() <= LONGEST_URI) {
        followed_row::put_document(session, copy, document)?;
    }
    packs::take(session, copy, &ledger.packs, &ledger.repacked)
}
