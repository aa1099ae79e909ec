//! Large plans in slices: the run that has the copy writes them, other workers join them, and groups record their
//! progress.

use std::{collections::BTreeMap, sync::Arc};

use instep_postgres::{Claimant, EngineFault, NumberedWriter, ServerLink, Session};
use rand::Rng as _;

use super::{
    DatabaseCopy, PostgresState,
    known::RememberedRows,
    lease::{CopyRight, ShareLease},
    row,
    shares::{ShareKey, clear, lock, transaction},
    slice_board::PlanBoard,
};
use crate::{
    records::slice,
    state::{
        Checkpoint, JoinedPlan, Ledger, NewSlice, Operation, SetId, ShareCounts, SharePlan, SliceBoard,
        SliceFailure, SliceProgress, StateError,
    },
};

/// Returns an unused number.
fn fresh_number() -> i64 {
    rand::rng().random_range(1..i64::MAX)
}

/// Records a group's progress of slices, its counts, and its failures.
pub(super) fn take(
    session: &Session,
    key: Option<ShareKey>,
    done: &[&[Operation]],
    ledger: &Ledger,
) -> Result<(), EngineFault> {
    let (Some(key), false) = (key, ledger.slices.progress.is_empty()) else { return Ok(()) };
    let (finished, begun): (Vec<&SliceProgress>, Vec<&SliceProgress>) =
        ledger.slices.progress.values().partition(|slice| slice.is_finished());
    let ids = |slices: &[&SliceProgress]| slices.iter().map(|slice| slice.slice).collect::<Vec<_>>();
    let sql = "DELETE FROM slice WHERE copy = $1 AND sharer = $2 AND id = ANY($3)";
    let mut touched = session.execute(sql, &[&key.copy, &key.sharer, &ids(&finished)])?;
    let sql = "UPDATE slice s SET done = n.done FROM unnest($3::bigint[], $4::bytea[]) AS n(id, done)
               WHERE s.copy = $1 AND s.sharer = $2 AND s.id = n.id";
    let bytes: Vec<_> = begun.iter().map(|slice| slice.done.to_bytes()).collect();
    touched += session.execute(sql, &[&key.copy, &key.sharer, &ids(&begun), &bytes])?;
    if touched != ledger.slices.progress.len() as u64 {
        return Err(EngineFault::Value("a slice that was claimed is another worker's".to_owned()));
    }
    let mut counts = ledger.slices.counts;
    for operation in done.iter().copied().flatten() {
        match operation {
            Operation::Place { replaces: true, .. } => counts.updated += 1,
            Operation::Place { .. } => counts.created += 1,
            Operation::Remove { .. } | Operation::Move { .. } => {}
        }
    }
    let sql = "UPDATE share SET done = done + $3, created = created + $4, updated = updated + $5,
               unchanged = unchanged + $6, unverified = unverified + $7, bytes = bytes + $8
               WHERE copy = $1 AND sharer = $2";
    let ShareCounts { done, created, updated, unchanged, unverified, bytes } = counts;
    let [done, created, updated, unchanged, unverified, bytes] =
        [done, created, updated, unchanged, unverified, bytes].map(u64::cast_signed);
    let values: &[&(dyn tokio_postgres::types::ToSql + Sync)] =
        &[&key.copy, &key.sharer, &done, &created, &updated, &unchanged, &unverified, &bytes];
    session.execute(sql, values)?;
    put_failures(session, key.copy, &ledger.slices.failures)
}

fn put_failures(session: &Session, copy: i64, failures: &[SliceFailure]) -> Result<(), EngineFault> {
    if failures.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO failure (copy, uri, kind, what, explicable)
               SELECT $1::bigint, * FROM unnest($2::text[], $3::text[], $4::text[], $5::boolean[])
               ON CONFLICT (copy, uri) DO UPDATE SET kind = excluded.kind, what = excluded.what,
               explicable = excluded.explicable";
    // Of several failures of one resource the last counts.
    let last: BTreeMap<_, _> = failures.iter().map(|one| (one.uri.as_str(), one)).collect();
    let uris: Vec<_> = last.keys().copied().collect();
    let kinds: Vec<_> = last.values().map(|one| one.kind.as_str()).collect();
    let reasons: Vec<_> = last.values().map(|one| row::plain(&one.what)).collect();
    let explicable: Vec<_> = last.values().map(|one| one.explicable).collect();
    session.execute(sql, &[&copy, &uris, &kinds, &reasons, &explicable]).map(drop)
}

/// Refuses a checkpoint of a set whose plan has slices that are not done.
pub(super) fn refuse_to_pass(
    session: &Session,
    copy: i64,
    checkpoints: &BTreeMap<SetId, Checkpoint>,
) -> Result<(), EngineFault> {
    if checkpoints.is_empty() {
        return Ok(());
    }
    let sets: Vec<_> = checkpoints.keys().map(|set| i64::from(set.0)).collect();
    let sql = "SELECT EXISTS (SELECT 1 FROM plan p JOIN slice s ON s.copy = p.copy WHERE p.copy = $1 AND p.set_id = ANY($2))";
    if session.one(sql, &[&copy, &sets])?.try_get(0)? {
        Err(EngineFault::Value("a checkpoint would pass slices of the plan that are not done".to_owned()))
    } else {
        Ok(())
    }
}

impl SharePlan for PostgresState {
    fn begin_plan(&mut self, set: SetId) -> Result<(), StateError> {
        let number = fresh_number();
        let version = i64::from(slice::VERSION);
        self.write(|session, copy| {
            clear(session, copy)?;
            let sql = "INSERT INTO plan (copy, number, set_id, version, token)
                       SELECT id, $2, $3, $4, token FROM copy WHERE id = $1";
            session.execute(sql, &[&copy, &number, &i64::from(set.0), &version]).map(drop)
        })?;
        self.share = Some(ShareKey { copy: self.copy, plan: number, sharer: fresh_number() });
        self.known.iter().for_each(RememberedRows::share);
        Ok(())
    }

    fn add_slices(&mut self, slices: &[NewSlice]) -> Result<(), StateError> {
        let sql = "INSERT INTO slice (copy, id, turn, total, actions)
                   SELECT $1::bigint, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[])";
        let ids: Vec<_> = slices.iter().map(|slice| slice.id).collect();
        let turns: Vec<_> = slices.iter().map(|slice| slice.turn).collect();
        let totals: Vec<_> = slices.iter().map(|slice| i64::from(slice.total)).collect();
        let actions: Vec<_> = slices.iter().map(|slice| &*slice.actions).collect();
        self.write(|session, copy| session.execute(sql, &[&copy, &ids, &turns, &totals, &actions]).map(drop))
    }

    fn seal_plan(&mut self) -> Result<Box<dyn SliceBoard>, StateError> {
        let key = self.share.ok_or_else(|| self.link.error(row::value("no plan was begun")))?;
        let name = Claimant::over("").holder;
        self.write(|session, copy| {
            put_share(session, key, &name)?;
            let sql = "UPDATE plan SET sealed = true WHERE copy = $1 AND number = $2";
            session.execute(sql, &[&copy, &key.plan]).map(drop)
        })?;
        Ok(Box::new(PlanBoard::new(&self.link, key)))
    }
}

fn put_share(session: &Session, key: ShareKey, name: &str) -> Result<(), EngineFault> {
    let sql = "INSERT INTO share (copy, plan, sharer, name) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    session.execute(sql, &[&key.copy, &key.plan, &key.sharer, &name]).map(drop)
}

impl PostgresState {
    /// Takes a share of the plan that another run has sealed; `None` if there is none, no slice of it is free, or a
    /// program of another version made it.
    ///
    /// # Errors
    /// If the tables are of another version, or the server refuses or fails.
    pub(crate) fn join(at: &DatabaseCopy) -> Result<Option<JoinedPlan>, StateError> {
        let reading = Self::open_beside(at)?;
        let (copy, sharer, name) = (reading.copy, fresh_number(), Claimant::over("").holder);
        let writing = Arc::new(ServerLink::new(at.address.clone()));
        let joined = transaction(&writing, |session| {
            lock(session, copy)?;
            let sql =
                "SELECT p.number, p.set_id FROM plan p JOIN copy c ON c.id = p.copy AND c.token = p.token
                       WHERE p.copy = $1 AND p.sealed AND p.version = $2
                       AND EXISTS (SELECT 1 FROM slice s WHERE s.copy = p.copy AND s.sharer IS NULL)";
            let Some(found) = session.optional(sql, &[&copy, &i64::from(slice::VERSION)])? else {
                return Ok(None);
            };
            let key = ShareKey { copy, plan: found.try_get(0)?, sharer };
            put_share(session, key, &name)?;
            let set = u8::try_from(found.try_get::<_, i64>(1)?).map_err(row::value)?;
            Ok(Some((key, SetId(set))))
        })?;
        let Some((key, set)) = joined else { return Ok(None) };
        let board = Box::new(PlanBoard::new(&reading.link, key));
        let lease = ShareLease::begin(&writing, key)?;
        let writer = Some(NumberedWriter::new(writing, CopyRight::Share(lease)));
        let state = Box::new(Self { writer, share: Some(key), ..reading });
        Ok(Some(JoinedPlan { set, state, board }))
    }
}
