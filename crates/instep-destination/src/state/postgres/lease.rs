//! The right to write the state of a copy: one run at a time, on any machine.
//!
//! A run that has the right writes its token into the row of the copy, and increments a heartbeat every few seconds.
//! A run that finds a token watches the heartbeat by its own clock, while the server answers: no clocks are compared,
//! and an outage of the server takes the right from no run. Each transaction names the token, so a run that lost the
//! right without noticing writes nothing more.

use std::{sync::Arc, thread, time::Duration};

use instep_postgres::{Address, EngineFault, PostgresError, ServerLink, Session, driver};
use rand::Rng as _;
use tokio::{runtime::Handle, task::AbortHandle};

use super::shares::{self, ShareKey};
use crate::state::StateError;

/// The time between two beats.
const BEAT: Duration = Duration::from_secs(5);

/// The number of readings of a heartbeat, a second apart, before its run counts as dead.
const LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// A run that takes the right.
#[derive(Clone, Debug)]
pub(super) struct Claimant {
    /// The run, for the message that others get.
    pub(super) holder: String,
    /// The folder of the copy: a run that has its lock knows that an earlier run over it is dead.
    pub(super) folder: String,
    /// The former holder of the right is known to have ended.
    pub(super) succeeds: bool,
}

/// The right to write, while this value lives.
#[derive(Debug)]
pub(super) struct WriteLease {
    pub(super) token: String,
    copy: i64,
    link: Arc<ServerLink>,
    beating: AbortHandle,
}

struct LeaseRow {
    token: Option<String>,
    holder: String,
    folder: String,
    beat: i64,
}

impl WriteLease {
    /// Takes the right to write a copy.
    ///
    /// # Errors
    /// If another run has it, or the server fails.
    pub(super) fn take(link: &Arc<ServerLink>, copy: i64, claimant: &Claimant) -> Result<Self, StateError> {
        let place = &link.address.shown;
        let session = link.session()?;
        let token = format!("{:032x}", rand::rng().random::<u128>());
        let mut watched: Option<LeaseRow> = None;
        let mut looks = 0;
        loop {
            let found = look(&session, copy).map_err(|fault| link.error(fault))?;
            let is_free = found.token.is_none() || claimant.succeeds || found.folder == claimant.folder;
            let is_same = watched
                .as_ref()
                .is_some_and(|before| (&before.token, before.beat) == (&found.token, found.beat));
            if !is_free && watched.is_some() && !is_same {
                return Err(PostgresError::Taken { place: place.clone(), holder: found.holder }.into());
            }
            if is_free || looks == LOOKS {
                if found.token.is_some() {
                    shares::wait_for_helpers(link, copy)?;
                }
                let taken = claim(&session, copy, found.token.as_deref(), (&token, claimant));
                if taken.map_err(|fault| link.error(fault))? {
                    break;
                }
                // Another run was faster.
                (watched, looks) = (None, 0);
                continue;
            }
            if looks == 0 {
                tracing::info!(
                    "{} was in use by {}: waiting until that is known to be over",
                    place,
                    found.holder
                );
            }
            watched = Some(found);
            looks += 1;
            thread::sleep(BETWEEN_LOOKS);
        }
        let driver = driver().map_err(|source| PostgresError::Unreachable {
            place: place.clone(),
            source: Box::new(source),
        })?;
        // Before anything is read: workers with a share of a former plan may commit until then.
        shares::sweep(link, copy)?;
        let counts = token.clone();
        let beating = begin_to_beat(&driver, link.address.clone(), move |session| {
            let sql = "UPDATE beat SET beat = beat + 1 WHERE copy = $1 AND token = $2";
            session.execute(sql, &[&copy, &counts])
        });
        Ok(Self { token, copy, link: Arc::clone(link), beating })
    }
}

impl Drop for WriteLease {
    fn drop(&mut self) {
        self.beating.abort();
        // If the server is gone, the next run sees that the heartbeat has stopped, or has the lock of the folder.
        if let Ok(session) = self.link.session() {
            // Workers with slices of the plan continue until another run takes the copy, which ignores a token of the
            // same fleet.
            let sql = "UPDATE copy SET token = NULL WHERE id = $1 AND token = $2
                       AND NOT EXISTS (SELECT 1 FROM slice WHERE copy = $1)";
            let _ = session.execute(sql, &[&self.copy, &self.token]);
        }
    }
}

fn look(session: &Session, copy: i64) -> Result<LeaseRow, EngineFault> {
    let sql = "SELECT c.token, COALESCE(c.holder, ''), COALESCE(c.folder, ''), COALESCE(b.beat, 0)
               FROM copy c LEFT JOIN beat b ON b.copy = c.id WHERE c.id = $1";
    let row = session.one(sql, &[&copy])?;
    Ok(LeaseRow {
        token: row.try_get(0)?,
        holder: row.try_get(1)?,
        folder: row.try_get(2)?,
        beat: row.try_get(3)?,
    })
}

fn claim(
    session: &Session,
    copy: i64,
    seen: Option<&str>,
    (token, claimant): (&str, &Claimant),
) -> Result<bool, EngineFault> {
    let sql = "WITH taken AS (UPDATE copy SET token = $3, holder = $4, folder = $5, grp = 0
               WHERE id = $1 AND token IS NOT DISTINCT FROM $2 RETURNING id, token)
               INSERT INTO beat (copy, token, beat) SELECT id, token, 0 FROM taken
               ON CONFLICT (copy) DO UPDATE SET token = excluded.token, beat = 0";
    let taken = session.execute(sql, &[&copy, &seen, &token, &claimant.holder, &claimant.folder])?;
    Ok(taken == 1)
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
    /// If this fails.
    pub(super) fn begin(link: &Arc<ServerLink>, key: ShareKey) -> Result<Self, StateError> {
        let unreachable = |source: std::io::Error| PostgresError::Unreachable {
            place: link.address.shown.clone(),
            source: source.into(),
        };
        let driver = driver().map_err(unreachable)?;
        let beating = begin_to_beat(&driver, link.address.clone(), move |session| {
            let sql = "UPDATE share SET beat = beat + 1 WHERE copy = $1 AND sharer = $2 AND NOT ended";
            session.execute(sql, &[&key.copy, &key.sharer])
        });
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

/// Increments periodically, over a separate connection that a short run never opens.
fn begin_to_beat(
    driver: &Handle,
    address: Address,
    beat: impl Fn(&Session) -> Result<u64, EngineFault> + Send + Sync + 'static,
) -> AbortHandle {
    let beat = Arc::new(beat);
    let task = driver.spawn(async move {
        let link = Arc::new(ServerLink::new(address));
        loop {
            tokio::time::sleep(BEAT).await;
            let (link, beat) = (Arc::clone(&link), Arc::clone(&beat));
            let beat = move || {
                // A beat that fails is counted by the next one, over a new connection.
                if let Ok(session) = link.session()
                    && beat(&session).is_err()
                {
                    session.give_up();
                }
            };
            // Waiting for a server would hold up the thread that moves the connections on.
            if tokio::task::spawn_blocking(beat).await.is_err() {
                return;
            }
        }
    });
    task.abort_handle()
}
