//! The slices of a sealed plan as a worker with a share of it sees them, and the plans that workers may take a share of.

use std::time::Duration;

use instep_postgres::{Address, EngineFault, PostgresError, ServerLink, Session};
use tokio_postgres::Row;
use tokio_util::sync::CancellationToken;

use super::{
    row,
    schema::TABLES,
    shares::{self, ShareKey},
};
use crate::{
    records::slice,
    state::{
        ClaimedSlice, DoneActions, PlanShare, ShareCounts, SharerId, SliceBoard, SliceFailure, SliceProgress,
        StateError,
    },
};

/// The number of free slices that a claim considers.
const LOOKED_AT: i64 = 16;

/// The slices of a plan, over a separate connection, so that a claim does not wait for the statements of a group.
#[derive(Debug)]
pub(super) struct PlanBoard {
    link: ServerLink,
    key: ShareKey,
    /// The number of the last claim.
    claims: i64,
}

impl PlanBoard {
    pub(super) fn new(beside: &ServerLink, key: ShareKey) -> Self {
        Self { link: ServerLink::new(beside.address.clone()), key, claims: 0 }
    }

    /// Returns the slices of one claim.
    fn claimed(&self, session: &Session, claim: i64) -> Result<Vec<ClaimedSlice>, EngineFault> {
        let sql = "SELECT id, total, done, actions FROM slice WHERE copy = $1 AND sharer = $2 AND claim = $3 ORDER BY turn, id";
        session.query(sql, &[&self.key.copy, &self.key.sharer, &claim])?.iter().map(claimed_slice).collect()
    }
}

fn claimed_slice(from: &Row) -> Result<ClaimedSlice, EngineFault> {
    let total = u16::try_from(from.try_get::<_, i64>(1)?).map_err(row::value)?;
    let done = match from.try_get::<_, Option<&[u8]>>(2)? {
        None => DoneActions::default(),
        Some(bytes) => DoneActions::from_bytes(bytes)
            .ok_or_else(|| EngineFault::Value("these are no actions of a slice".to_owned()))?,
    };
    let progress = SliceProgress { slice: from.try_get(0)?, done, total };
    Ok(ClaimedSlice { progress, actions: from.try_get(3)? })
}

/// Returns the first free slices that have this number of actions together, at least one.
fn enough(free: &[Row], actions: usize) -> Result<Vec<i64>, EngineFault> {
    let (mut ids, mut sum) = (Vec::new(), 0);
    for row in free {
        if sum >= actions {
            break;
        }
        ids.push(row.try_get(0)?);
        sum += usize::try_from(row.try_get::<_, i64>(1)?).map_err(row::value)?;
    }
    Ok(ids)
}

impl SliceBoard for PlanBoard {
    fn me(&self) -> SharerId {
        self.key.sharer
    }

    fn claim(&mut self, actions: usize) -> Result<Vec<ClaimedSlice>, StateError> {
        let (key, claim) = (self.key, self.claims + 1);
        let slices = shares::transaction(&self.link, |session| {
            if !shares::lock_plan(session, key)? {
                return Ok(None);
            }
            // The row of the share is locked: a worker whose share has ended claims nothing.
            let sql =
                "SELECT 1 FROM share WHERE copy = $1 AND plan = $2 AND sharer = $3 AND NOT ended FOR UPDATE";
            if session.optional(sql, &[&key.copy, &key.plan, &key.sharer])?.is_none() {
                return Ok(None);
            }
            let before = self.claimed(session, claim)?;
            if !before.is_empty() {
                // An earlier attempt was committed, and its answer was lost.
                return Ok(Some(before));
            }
            let sql =
                "SELECT id, total FROM slice WHERE copy = $1 AND sharer IS NULL ORDER BY turn, id LIMIT $2";
            let free = enough(&session.query(sql, &[&key.copy, &LOOKED_AT])?, actions)?;
            let sql = "UPDATE slice SET sharer = $2, claim = $3 WHERE copy = $1 AND id = ANY($4)";
            session.execute(sql, &[&key.copy, &key.sharer, &claim, &free])?;
            self.claimed(session, claim).map(Some)
        })?;
        self.claims = claim;
        slices.ok_or_else(|| shares::has_ended(&self.link.address.shown).into())
    }

    fn is_ending(&self) -> Result<bool, StateError> {
        let sql = "SELECT 1 FROM plan WHERE copy = $1 AND number = $2 AND NOT sealed";
        Ok(self
            .link
            .read(|session| Ok(session.optional(sql, &[&self.key.copy, &self.key.plan])?.is_some()))?)
    }

    fn shares(&self) -> Result<Vec<PlanShare>, StateError> {
        let sql =
            "SELECT sharer, beat, ended, done, created, updated, unchanged, unverified, bytes FROM share
                   WHERE copy = $1 AND plan = $2 ORDER BY sharer";
        let read = |from: &Row| {
            let counts = ShareCounts {
                done: row::count(from, 3)?,
                created: row::count(from, 4)?,
                updated: row::count(from, 5)?,
                unchanged: row::count(from, 6)?,
                unverified: row::count(from, 7)?,
                bytes: row::count(from, 8)?,
            };
            Ok(PlanShare {
                sharer: from.try_get(0)?,
                beat: from.try_get(1)?,
                has_ended: from.try_get(2)?,
                counts,
            })
        };
        Ok(self.link.read(|session| {
            session.query(sql, &[&self.key.copy, &self.key.plan])?.iter().map(read).collect()
        })?)
    }

    fn end_share(&self, sharer: SharerId, beat: i64) -> Result<bool, StateError> {
        Ok(shares::end(&self.link, ShareKey { sharer, ..self.key }, Some(beat))?)
    }

    fn have_others_done(&self) -> Result<bool, StateError> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM slice WHERE copy = $1 AND sharer IS DISTINCT FROM $2)";
        Ok(self
            .link
            .read(|session| Ok(session.one(sql, &[&self.key.copy, &self.key.sharer])?.try_get(0)?))?)
    }

    fn failures_after(&self, after: &str, most: usize) -> Result<Vec<SliceFailure>, StateError> {
        let sql = "SELECT uri, kind, what, explicable FROM failure WHERE copy = $1 AND uri > $2 ORDER BY uri LIMIT $3";
        let read = |from: &Row| {
            Ok(SliceFailure {
                uri: from.try_get(0)?,
                kind: from.try_get(1)?,
                what: from.try_get(2)?,
                explicable: from.try_get(3)?,
            })
        };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        Ok(self.link.read(|session| {
            session.query(sql, &[&self.key.copy, &after, &most])?.iter().map(read).collect()
        })?)
    }
}

/// Returns the names of the copies with unclaimed slices.
fn waiting(session: &Session) -> Result<Vec<String>, EngineFault> {
    let sql = "SELECT c.name FROM plan p JOIN copy c ON c.id = p.copy AND c.token = p.token WHERE p.sealed AND p.version = $1
               AND EXISTS (SELECT 1 FROM slice s WHERE s.copy = p.copy AND s.sharer IS NULL) ORDER BY c.name";
    let rows = session.query(sql, &[&i64::from(slice::VERSION)])?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// The shared plans of all copies of a database, read over a connection that stays open.
#[derive(Debug)]
pub(crate) struct WaitingPlans {
    link: ServerLink,
    has_tables: bool,
}

impl WaitingPlans {
    /// Returns the plans at the URL of a state, for work that may be ended.
    ///
    /// # Errors
    /// If it is no URL of PostgreSQL.
    pub(crate) fn at(url: &str, ending: &CancellationToken) -> Result<Self, PostgresError> {
        let address = Address::parse(url)?.until(ending.clone());
        Ok(Self { link: ServerLink::waiting_at_most(address, Duration::ZERO), has_tables: false })
    }

    /// Returns the names of the copies with unclaimed slices.
    ///
    /// # Errors
    /// If the server cannot be reached, or fails.
    pub(crate) fn names(&mut self) -> Result<Vec<String>, PostgresError> {
        if self.finds_tables()? { self.link.read(waiting) } else { Ok(Vec::new()) }
    }

    /// Ends the shares that a process had in the plans of others, and frees their slices. The process must have ended.
    ///
    /// # Errors
    /// If the server cannot be reached, or fails.
    pub(crate) fn end_shares_of(&mut self, process: &str) -> Result<(), PostgresError> {
        if !self.finds_tables()? {
            return Ok(());
        }
        // A plan of its own goes as a whole with the next run over its copy.
        let sql = "SELECT s.copy, s.plan, s.sharer FROM share s JOIN copy c ON c.id = s.copy
                   WHERE s.name = $1 AND NOT s.ended AND c.holder IS DISTINCT FROM s.name";
        let key = |row: &Row| {
            Ok(ShareKey { copy: row.try_get(0)?, plan: row.try_get(1)?, sharer: row.try_get(2)? })
        };
        let shares: Vec<ShareKey> =
            self.link.read(|session| session.query(sql, &[&process])?.iter().map(key).collect())?;
        shares.into_iter().try_for_each(|share| shares::end(&self.link, share, None).map(drop))
    }

    /// Returns `false` if no run has created the tables yet.
    fn finds_tables(&mut self) -> Result<bool, PostgresError> {
        if !self.has_tables {
            let session = self.link.session()?;
            match TABLES.check(&session, &self.link.address) {
                Err(PostgresError::Missing { .. }) => return Ok(false),
                checked => checked?,
            }
            self.has_tables = true;
        }
        Ok(true)
    }
}
