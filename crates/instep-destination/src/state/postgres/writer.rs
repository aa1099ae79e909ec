//! Transactions of the run that writes a copy. Each has a number, so that it is known whether one was committed whose
//! answer was lost.

use std::sync::Arc;

use instep_postgres::{EngineFault, PostgresError, ServerLink, Session};

use super::{
    lease::{ShareLease, WriteLease},
    shares,
};
use crate::state::StateError;

/// The writer of a copy.
#[derive(Debug)]
pub(super) struct CopyWriter {
    link: Arc<ServerLink>,
    copy: i64,
    /// The number of the last transaction.
    last: i64,
    right: WriteRight,
}

/// The right that a transaction begins with.
#[derive(Debug)]
enum WriteRight {
    /// That of the run that has the copy.
    Copy(WriteLease),
    /// That of a worker with a share of its plan.
    Share(ShareLease),
}

/// An attempt at a transaction.
enum CommitAttempt<T> {
    /// It is committed.
    Done(T),
    /// The commit was sent and has no answer.
    Unanswered(T, PostgresError),
    /// An earlier attempt with this number was committed.
    WasDone,
    /// Nothing of it stays.
    Failed(PostgresError),
}

impl CopyWriter {
    pub(super) fn new(link: Arc<ServerLink>, copy: i64, lease: WriteLease) -> Self {
        Self { link, copy, last: 0, right: WriteRight::Copy(lease) }
    }

    pub(super) fn of_share(link: Arc<ServerLink>, copy: i64, lease: ShareLease) -> Self {
        Self { link, copy, last: 0, right: WriteRight::Share(lease) }
    }

    /// Runs work in one transaction, and repeats it if the server failed or another transaction interfered. The
    /// changes are committed once, even if the answer is lost.
    ///
    /// # Errors
    /// If the work fails, another run has taken the copy over, or the server does not come back.
    pub(super) fn write<T>(
        &mut self,
        work: impl Fn(&Session) -> Result<T, EngineFault>,
    ) -> Result<T, StateError> {
        let number = self.last + 1;
        let mut patience = self.link.patience();
        let mut unanswered = None;
        loop {
            let failure = match self.attempt(number, &work) {
                CommitAttempt::Done(value) => {
                    self.last = number;
                    return Ok(value);
                }
                CommitAttempt::WasDone => {
                    self.last = number;
                    // Only a commit without an answer can have been done before.
                    let place = || self.link.address.shown.clone();
                    return unanswered.ok_or_else(|| PostgresError::WentBack { place: place() }.into());
                }
                CommitAttempt::Unanswered(value, failure) => {
                    unanswered = Some(value);
                    failure
                }
                CommitAttempt::Failed(failure) => failure,
            };
            patience.wait_after(failure)?;
        }
    }

    /// Carries out work that cannot be repeated in one transaction. One whose answer is lost is asked after.
    ///
    /// # Errors
    /// If the work fails, another run has taken the copy over, or the connection is lost before the commit.
    pub(super) fn write_once<T>(
        &mut self,
        work: impl FnOnce(&Session) -> Result<T, EngineFault>,
    ) -> Result<T, StateError> {
        let number = self.last + 1;
        let (value, lost) = match self.attempt(number, work) {
            CommitAttempt::Done(value) => {
                self.last = number;
                return Ok(value);
            }
            CommitAttempt::Unanswered(value, lost) => (value, lost),
            CommitAttempt::Failed(error) => return Err(error.into()),
            CommitAttempt::WasDone => {
                return Err(PostgresError::WentBack { place: self.link.address.shown.clone() }.into());
            }
        };
        let mut patience = self.link.patience();
        let mut failure = lost;
        loop {
            patience.wait_after(failure)?;
            // Its number is free only if it was not committed.
            let mut was_lost = false;
            let asked = self.attempt(number, |_| {
                was_lost = true;
                Err::<(), _>(EngineFault::Value(String::new()))
            });
            failure = match asked {
                CommitAttempt::Done(()) | CommitAttempt::WasDone => {
                    self.last = number;
                    return Ok(value);
                }
                _ if was_lost => return Err(self.lost_before_commit()),
                CommitAttempt::Failed(failure) | CommitAttempt::Unanswered((), failure) => failure,
            };
        }
    }

    fn lost_before_commit(&self) -> StateError {
        let place = self.link.address.shown.clone();
        let source = "the connection was lost before the commit".into();
        PostgresError::Unreachable { place, source }.into()
    }

    fn attempt<T>(
        &self,
        number: i64,
        work: impl FnOnce(&Session) -> Result<T, EngineFault>,
    ) -> CommitAttempt<T> {
        let session = match self.link.session() {
            Ok(session) => session,
            Err(error) => return CommitAttempt::Failed(error),
        };
        let begun = session.batch("BEGIN ISOLATION LEVEL READ COMMITTED").map_err(EngineFault::from);
        let begun = begun.and_then(|()| self.begin(&session, number));
        let value = match begun.and_then(|begun| begun.map(|()| work(&session)).transpose()) {
            Ok(Some(value)) => value,
            Ok(None) => {
                let _ = session.batch("ROLLBACK");
                return self
                    .why_not(&session, number)
                    .map_or_else(CommitAttempt::Failed, |()| CommitAttempt::WasDone);
            }
            Err(fault) => {
                // A connection that cannot roll back is not used again: the open transaction ends with it.
                if session.batch("ROLLBACK").is_err() {
                    session.give_up();
                }
                return CommitAttempt::Failed(self.link.error(fault));
            }
        };
        match session.batch("COMMIT") {
            Ok(()) => CommitAttempt::Done(value),
            Err(error) => {
                session.give_up();
                match PostgresError::of(&self.link.address.shown, error) {
                    failure if failure.may_pass() => CommitAttempt::Unanswered(value, failure),
                    failure => CommitAttempt::Failed(failure),
                }
            }
        }
    }

    /// Gives the transaction its number; `None` if it has it already, or the right to write is gone.
    fn begin(&self, session: &Session, number: i64) -> Result<Option<()>, EngineFault> {
        let lease = match &self.right {
            WriteRight::Copy(lease) => lease,
            WriteRight::Share(lease) => return shares::begin(session, lease.key, number),
        };
        let sql = "UPDATE copy SET grp = $3::bigint WHERE id = $1 AND token = $2 AND grp = $3::bigint - 1";
        let counted = session.execute(sql, &[&self.copy, &lease.token, &number])?;
        Ok((counted == 1).then_some(()))
    }

    /// Returns `Ok` if the transaction of a number was committed.
    fn why_not(&self, session: &Session, number: i64) -> Result<(), PostgresError> {
        let place = self.link.address.shown.clone();
        let lease = match &self.right {
            WriteRight::Copy(lease) => lease,
            WriteRight::Share(lease) => {
                let last = shares::last_of(session, lease.key).map_err(|fault| self.link.error(fault))?;
                return match last {
                    Some(last) if last == number => Ok(()),
                    Some(_) => Err(PostgresError::WentBack { place }),
                    None => Err(shares::has_ended(&place)),
                };
            }
        };
        let sql = "SELECT COALESCE(token = $2, false), grp, COALESCE(holder, '') FROM copy WHERE id = $1";
        let look = || {
            let row = session.one(sql, &[&self.copy, &lease.token])?;
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
