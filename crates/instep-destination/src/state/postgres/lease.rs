//! The right to write the state of a copy: one run at a time, on any machine.
//!
//! A run that has the right writes its token into the row of the copy, and increments a heartbeat every few seconds.
//! A run that finds a token watches the heartbeat by its own clock, while the server answers: no clocks are compared,
//! and an outage of the server takes the right from no run. Each transaction names the token, so a run that lost the
//! right without noticing writes nothing more.

use std::{sync::Arc, time::Duration};

use instep_postgres::{
    Claimant, EngineFault, LeaseOwners, PostgresError, ServerLink, Session, WriteLease, WriteRight, beat_over,
};
use tokio::task::AbortHandle;

use super::shares::{self, ShareKey};
use crate::state::StateError;

/// The lease of copies. Workers that have slices of the plan continue until another run takes the copy over, so the
/// lease is not given back while there are slices.
const COPIES: LeaseOwners =
    LeaseOwners { table: "copy", given_back_if: "NOT EXISTS (SELECT 1 FROM slice WHERE copy = $1)" };

/// The time between two heartbeats of a share, several of which fit in the time after which it counts as dead.
const BEAT_OF_SHARE: Duration = Duration::from_secs(2);

/// The right with which a transaction begins.
#[derive(Debug)]
pub(super) enum CopyRight {
    /// The right of the run that has the copy.
    Run(WriteLease),
    /// The right of a worker with a share of its plan.
    Share(ShareLease),
}

impl WriteRight for CopyRight {
    fn begin(&self, session: &Session, number: i64) -> Result<bool, EngineFault> {
        match self {
            Self::Run(lease) => lease.begin(session, number),
            Self::Share(lease) => shares::begin(session, lease.key, number),
        }
    }

    fn was_committed(&self, session: &Session, number: i64) -> Result<(), PostgresError> {
        let lease = match self {
            Self::Run(lease) => return lease.was_committed(session, number),
            Self::Share(lease) => lease,
        };
        let place = lease.link.address.shown.clone();
        match shares::last_of(session, lease.key).map_err(|fault| lease.link.error(fault))? {
            Some(last) if last == number => Ok(()),
            Some(_) => Err(PostgresError::WentBack { place }),
            None => Err(shares::has_ended(&place)),
        }
    }
}

/// Takes the right to write a copy.
///
/// # Errors
/// If another run has it, or the server fails.
pub(super) fn take(link: &Arc<ServerLink>, copy: i64, claimant: &Claimant) -> Result<CopyRight, StateError> {
    let mut lease = COPIES.take(link, copy, claimant, &|| shares::wait_for_helpers(link, copy))?;
    // The plan is removed before anything is read: workers with a share of it may commit until then.
    shares::sweep(link, copy)?;
    lease.begin_to_beat()?;
    Ok(CopyRight::Run(lease))
}

/// The share of a worker in a plan, while this value lives.
#[derive(Debug)]
pub(super) struct ShareLease {
    pub(super) key: ShareKey,
    link: Arc<ServerLink>,
    beating: AbortHandle,
}

impl ShareLease {
    /// Begins the heartbeat of a share.
    ///
    /// # Errors
    /// If the connection for it cannot be opened.
    pub(super) fn begin(link: &Arc<ServerLink>, key: ShareKey) -> Result<Self, StateError> {
        let beating = beat_over(&link.address, BEAT_OF_SHARE, move |session| {
            let sql = "UPDATE share SET beat = beat + 1 WHERE copy = $1 AND sharer = $2 AND NOT ended";
            session.execute(sql, &[&key.copy, &key.sharer])
        })?;
        Ok(Self { key, link: Arc::clone(link), beating })
    }
}

impl Drop for ShareLease {
    fn drop(&mut self) {
        self.beating.abort();
        // If the server is gone, the run that has the copy sees that the heartbeat has stopped.
        if self.link.session().is_ok() {
            let _ = shares::end(&self.link, self.key, None);
        }
    }
}
