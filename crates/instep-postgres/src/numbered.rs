//! Transactions with numbers: after a commit whose answer was lost, the number shows if it succeeded.

use std::sync::Arc;

use crate::{
    error::{EngineFault, PostgresError},
    lease::WriteLease,
    link::ServerLink,
    session::Session,
};

/// The right that each transaction begins with.
pub trait WriteRight {
    /// Gives a transaction its number; `false` if it has it already, or the right to write is gone.
    ///
    /// # Errors
    /// If the server fails.
    fn begin(&self, session: &Session, number: i64) -> Result<bool, EngineFault>;

    /// Returns `Ok` if the transaction of a number was committed.
    ///
    /// # Errors
    /// If it was not, or the server fails.
    fn was_committed(&self, session: &Session, number: i64) -> Result<(), PostgresError>;
}

impl WriteRight for WriteLease {
    fn begin(&self, session: &Session, number: i64) -> Result<bool, EngineFault> {
        self.begin(session, number)
    }

    fn was_committed(&self, session: &Session, number: i64) -> Result<(), PostgresError> {
        self.was_committed(session, number)
    }
}

/// Writes in transactions that are numbered from one on.
#[derive(Debug)]
pub struct NumberedWriter<R> {
    link: Arc<ServerLink>,
    /// The number of the last transaction.
    last: i64,
    /// The right to write.
    pub right: R,
}

/// An attempt at a transaction.
enum CommitAttempt<T> {
    /// It is committed.
    Done(T),
    /// The commit was sent and has no answer.
    Unanswered(T, PostgresError),
    /// An earlier attempt with this number was committed.
    WasDone,
    /// Nothing of it was committed.
    Failed(PostgresError),
}

impl<R: WriteRight> NumberedWriter<R> {
    /// Returns a writer that has committed nothing yet.
    pub fn new(link: Arc<ServerLink>, right: R) -> Self {
        Self { link, last: 0, right }
    }

    /// Returns the link over which it writes.
    pub fn link(&self) -> &Arc<ServerLink> {
        &self.link
    }

    /// Runs work in one transaction, and repeats it if the server failed or another transaction interfered. The
    /// changes are committed once, even if the answer is lost.
    ///
    /// # Errors
    /// If the work fails, another process has the right now, or the server does not come back.
    pub fn write<T>(
        &mut self,
        mut work: impl FnMut(&Session) -> Result<T, EngineFault>,
    ) -> Result<T, PostgresError> {
        let number = self.last + 1;
        let mut retries = self.link.retries();
        let mut unanswered = None;
        loop {
            let failure = match self.attempt(number, &mut work) {
                CommitAttempt::Done(value) => {
                    self.last = number;
                    return Ok(value);
                }
                CommitAttempt::WasDone => {
                    self.last = number;
                    // The number is used already. That is correct only if an earlier commit of this work had no answer.
                    return unanswered.ok_or_else(|| self.went_back());
                }
                CommitAttempt::Unanswered(value, failure) => {
                    unanswered = Some(value);
                    failure
                }
                CommitAttempt::Failed(failure) => failure,
            };
            retries.wait_after(failure)?;
        }
    }

    /// Carries out work that cannot be repeated, in one transaction. If its answer is lost, the server is asked
    /// whether it was committed.
    ///
    /// # Errors
    /// If the work fails, another process has the right now, or the connection is lost before the commit.
    pub fn write_once<T>(
        &mut self,
        work: impl FnOnce(&Session) -> Result<T, EngineFault>,
    ) -> Result<T, PostgresError> {
        let number = self.last + 1;
        let (value, lost) = match self.attempt(number, work) {
            CommitAttempt::Done(value) => {
                self.last = number;
                return Ok(value);
            }
            CommitAttempt::Unanswered(value, lost) => (value, lost),
            CommitAttempt::Failed(error) => return Err(error),
            CommitAttempt::WasDone => return Err(self.went_back()),
        };
        let mut retries = self.link.retries();
        let mut failure = lost;
        loop {
            retries.wait_after(failure)?;
            // The number was taken by the transaction itself, so it is free again only if that was not committed.
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

    fn went_back(&self) -> PostgresError {
        PostgresError::WentBack { place: self.link.address.shown.clone() }
    }

    fn lost_before_commit(&self) -> PostgresError {
        let place = self.link.address.shown.clone();
        PostgresError::Unreachable { place, source: "the connection was lost before the commit".into() }
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
        session.begin();
        let begun = self.right.begin(&session, number);
        let value = match begun.and_then(|begun| begun.then(|| work(&session)).transpose()) {
            Ok(Some(value)) => value,
            Ok(None) => {
                // Within an open transaction the server would be asked about the transaction itself.
                if let Err(error) = session.batch("ROLLBACK") {
                    session.give_up();
                    return CommitAttempt::Failed(PostgresError::of(&self.link.address.shown, error));
                }
                return self
                    .right
                    .was_committed(&session, number)
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
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use instep_testkit::PostgresServer;

    use super::*;
    use crate::Address;

    /// Has no right, and loses its connections while it says so the first time.
    #[derive(Default)]
    struct Losing {
        begun: AtomicU32,
        asked: AtomicU32,
    }

    impl WriteRight for Losing {
        fn begin(&self, session: &Session, _: i64) -> Result<bool, EngineFault> {
            if self.begun.fetch_add(1, Ordering::Relaxed) == 0 {
                let _ = session.execute("SELECT pg_terminate_backend(pg_backend_pid())", &[]);
            }
            Ok(false)
        }

        fn was_committed(&self, session: &Session, _: i64) -> Result<(), PostgresError> {
            assert!(!session.is_closed(), "asked over a connection that is lost");
            self.asked.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn o504_a_connection_that_cannot_roll_back_is_asked_nothing() {
        let Some(server) = PostgresServer::start() else { return };
        let link = Arc::new(ServerLink::new(Address::parse(&server.url()).unwrap()));
        let mut writer = NumberedWriter::new(link, Losing::default());
        let error = writer.write(|_| Ok(())).unwrap_err();
        assert!(matches!(error, PostgresError::WentBack { .. }), "{error:?}");
        let Losing { begun, asked } = &writer.right;
        assert_eq!((begun.load(Ordering::Relaxed), asked.load(Ordering::Relaxed)), (2, 1));
    }
}
