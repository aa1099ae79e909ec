//! The right to write what belongs to one owner, such as a copy: one process at a time, whatever machine it is on.
//!
//! A process that has the right writes its token into the row of the owner, and increments a heartbeat every few
//! seconds. Another process that finds a token watches the heartbeat by its own clock, while the server answers. So
//! no two clocks are compared, and no process loses the right by an outage of the server. Each transaction names the
//! token, so a process that lost the right without noticing cannot write.
//!
//! The table of the owners has the columns `id`, `token`, `holder`, `folder` and `grp`; a table `beat` has the owner, `token`
//! and `beat`.

mod claimant;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rand::Rng as _;
use tokio::task::AbortHandle;

use crate::{
    address::Address,
    error::{EngineFault, PostgresError},
    link::ServerLink,
    session::Session,
    waiting::driver,
};
pub use claimant::Claimant;

/// The time between two beats.
const BEAT: Duration = Duration::from_secs(5);

/// The number of looks at a beat, a second apart, before its process counts as dead.
const LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The owners in a schema whose right is taken.
#[derive(Clone, Copy, Debug)]
pub struct LeaseOwners {
    /// Their table, which is also the column of the table `beat` that names one.
    pub table: &'static str,
    /// A condition in SQL, written after `AND`, that must hold for a right to be given back when it ends; `$1` is the owner.
    pub given_back_if: &'static str,
}

impl LeaseOwners {
    /// Takes the right to write the rows of an owner. If another process has it, watches its heartbeat for up to 20 s, and
    /// calls `before_succession` before it takes the right from a dead one.
    ///
    /// # Errors
    /// If another process has it or the claimant gives up, or the server fails.
    pub fn take(
        self,
        link: &Arc<ServerLink>,
        owner: i64,
        claimant: &Claimant,
        before_succession: &dyn Fn() -> Result<(), PostgresError>,
    ) -> Result<WriteLease, PostgresError> {
        let place = &link.address.shown;
        let session = link.session()?;
        let token = format!("{:032x}", rand::rng().random::<u128>());
        let mut watched: Option<LeaseRow> = None;
        let mut looks = 0;
        loop {
            let found = self.look(&session, owner).map_err(|fault| link.error(fault))?;
            let is_free =
                found.token.is_none() || claimant.former_holder_ended || found.folder == claimant.folder;
            let is_same = watched
                .as_ref()
                .is_some_and(|before| (&before.token, before.beat) == (&found.token, found.beat));
            if !is_free && watched.is_some() && !is_same {
                return Err(PostgresError::Taken { place: place.clone(), holder: found.holder });
            }
            if is_free || looks == LOOKS {
                if found.token.is_some() {
                    before_succession()?;
                }
                let taken = self.claim(&session, owner, found.token.as_deref(), (&token, claimant));
                if taken.map_err(|fault| link.error(fault))? {
                    break;
                }
                // Another process was faster.
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
            if !claimant.waits(BETWEEN_LOOKS, &link.address.ending) {
                return Err(PostgresError::Taken { place: place.clone(), holder: found.holder });
            }
            watched = Some(found);
            looks += 1;
        }
        Ok(WriteLease {
            token,
            owners: self,
            owner,
            link: Arc::clone(link),
            confirmed: Arc::new(Mutex::new(Instant::now())),
            beating: None,
        })
    }

    fn look(self, session: &Session, owner: i64) -> Result<LeaseRow, EngineFault> {
        let table = self.table;
        let sql = format!(
            "SELECT o.token, COALESCE(o.holder, ''), COALESCE(o.folder, ''), COALESCE(b.beat, 0)
             FROM {table} o LEFT JOIN beat b ON b.{table} = o.id WHERE o.id = $1"
        );
        let row = session.one(&sql, &[&owner])?;
        Ok(LeaseRow {
            token: row.try_get(0)?,
            holder: row.try_get(1)?,
            folder: row.try_get(2)?,
            beat: row.try_get(3)?,
        })
    }

    fn claim(
        self,
        session: &Session,
        owner: i64,
        seen: Option<&str>,
        (token, claimant): (&str, &Claimant),
    ) -> Result<bool, EngineFault> {
        let table = self.table;
        let sql = format!(
            "WITH taken AS (UPDATE {table} SET token = $3, holder = $4, folder = $5, grp = 0
             WHERE id = $1 AND token IS NOT DISTINCT FROM $2 RETURNING id, token)
             INSERT INTO beat ({table}, token, beat) SELECT id, token, 0 FROM taken
             ON CONFLICT ({table}) DO UPDATE SET token = excluded.token, beat = 0"
        );
        let taken = session.execute(&sql, &[&owner, &seen, &token, &claimant.holder, &claimant.folder])?;
        Ok(taken == 1)
    }
}

struct LeaseRow {
    token: Option<String>,
    holder: String,
    folder: String,
    beat: i64,
}

/// The right to write, while this value lives.
#[derive(Debug)]
pub struct WriteLease {
    token: String,
    owners: LeaseOwners,
    owner: i64,
    link: Arc<ServerLink>,
    /// The time at which the right was certain last.
    confirmed: Arc<Mutex<Instant>>,
    beating: Option<AbortHandle>,
}

impl WriteLease {
    /// Begins to increment the heartbeat. Until then other processes may take this one for dead.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn begin_to_beat(&mut self) -> Result<(), PostgresError> {
        let (owner, token, confirmed) = (self.owner, self.token.clone(), Arc::clone(&self.confirmed));
        let sql = format!("UPDATE beat SET beat = beat + 1 WHERE {} = $1 AND token = $2", self.owners.table);
        self.beating = Some(beat_over(&self.link.address, BEAT, move |session| {
            let asked = Instant::now();
            let counted = session.execute(&sql, &[&owner, &token])?;
            if counted == 1 {
                *confirmed.lock().unwrap_or_else(PoisonError::into_inner) = asked;
            }
            Ok(counted)
        })?);
        Ok(())
    }

    /// Returns the time since the right was certain last.
    pub fn unconfirmed_for(&self) -> Duration {
        self.confirmed.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Gives a transaction of the owner its number; `false` if it has it already, or the right to write is gone.
    ///
    /// # Errors
    /// If the server fails.
    pub fn begin(&self, session: &Session, number: i64) -> Result<bool, EngineFault> {
        let table = self.owners.table;
        let sql = format!(
            "UPDATE {table} SET grp = $3::bigint WHERE id = $1 AND token = $2 AND grp = $3::bigint - 1"
        );
        Ok(session.execute(&sql, &[&self.owner, &self.token, &number])? == 1)
    }

    /// Returns `Ok` if the transaction of a number was committed.
    ///
    /// # Errors
    /// If it was not: the right is gone, or the server lost what it had confirmed. Also if the server fails.
    pub fn was_committed(&self, session: &Session, number: i64) -> Result<(), PostgresError> {
        let place = self.link.address.shown.clone();
        let sql = format!(
            "SELECT COALESCE(token = $2, false), grp, COALESCE(holder, '') FROM {} WHERE id = $1",
            self.owners.table
        );
        let look = || {
            let row = session.one(&sql, &[&self.owner, &self.token])?;
            Ok((row.try_get::<_, bool>(0)?, row.try_get::<_, i64>(1)?, row.try_get::<_, String>(2)?))
        };
        let (is_ours, last, holder) = look().map_err(|fault| self.link.error(fault))?;
        match is_ours {
            true if last == number => Ok(()),
            true => Err(PostgresError::WentBack { place }),
            false => Err(PostgresError::Taken { place, holder }),
        }
    }
}

impl Drop for WriteLease {
    fn drop(&mut self) {
        if let Some(beating) = &self.beating {
            beating.abort();
        }
        // If the server is gone, the next process sees that the heartbeat has stopped, or has the lock of the folder.
        if let Ok(session) = self.link.session() {
            let LeaseOwners { table, given_back_if } = self.owners;
            let sql =
                format!("UPDATE {table} SET token = NULL WHERE id = $1 AND token = $2 AND {given_back_if}");
            let _ = session.execute(&sql, &[&self.owner, &self.token]);
        }
    }
}

/// Increments a heartbeat after each pause, over its own connection, which a run that ends within the first one never
/// opens. Ends when it is aborted.
///
/// # Errors
/// If the system gives no thread.
pub fn beat_over(
    address: &Address,
    pause: Duration,
    beat: impl Fn(&Session) -> Result<u64, EngineFault> + Send + Sync + 'static,
) -> Result<AbortHandle, PostgresError> {
    let unreachable = |source: std::io::Error| PostgresError::Unreachable {
        place: address.shown.clone(),
        source: source.into(),
    };
    let driver = driver().map_err(unreachable)?;
    let (beat, link) = (Arc::new(beat), Arc::new(ServerLink::new(address.clone())));
    let task = driver.spawn(async move {
        loop {
            tokio::time::sleep(pause).await;
            let (link, beat) = (Arc::clone(&link), Arc::clone(&beat));
            let beat = move || {
                // A heartbeat that fails is not repeated: the next one comes soon, over a new connection.
                if let Ok(session) = link.session()
                    && beat(&session).is_err()
                {
                    session.give_up();
                }
            };
            // On a separate thread: waiting for a server would block the thread that drives all connections.
            if tokio::task::spawn_blocking(beat).await.is_err() {
                return;
            }
        }
    });
    Ok(task.abort_handle())
}
