//! Links to the server of a state: connections that are opened when they are needed, and again when they are lost.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::{
    address::Address,
    error::{EngineFault, PostgresError},
    idle::{self, PooledSession},
    session::Session,
};

/// The time for which a run waits for an unreachable server: longer than a standby needs to take over.
const PATIENCE: Duration = Duration::from_secs(90);

/// The first pause and the longest one between two attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// A way to a server: a connection for each statement or transaction, opened again when one is lost.
#[derive(Debug)]
pub struct ServerLink {
    /// The server.
    pub address: Address,
    patience: Duration,
}

impl ServerLink {
    /// Returns a link that waits for a server for as long as a standby needs to take over; no connection is opened yet.
    pub fn new(address: Address) -> Self {
        Self { address, patience: PATIENCE }
    }

    /// Returns a link that waits at most this long, for callers that try again by other means.
    pub fn with_patience(address: Address, patience: Duration) -> Self {
        Self { address, patience }
    }

    /// Returns the connection: the present one, a free one, or a new one.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn session(&self) -> Result<PooledSession, PostgresError> {
        let session = match idle::take(&self.address) {
            Some(session) => session,
            None => Session::open(&self.address)?,
        };
        Ok(PooledSession::new(session))
    }

    /// Closes connections that wait to be used: one was lost, and these may be lost too.
    pub fn give_up(&self) {
        idle::forget(&self.address);
    }

    /// Reads, again if the connection is lost meanwhile.
    ///
    /// # Errors
    /// If the work fails, or the server does not come back.
    pub fn read<T>(&self, work: impl Fn(&Session) -> Result<T, EngineFault>) -> Result<T, PostgresError> {
        let mut patience = self.patience();
        loop {
            let failure = match self.session() {
                Ok(session) => match work(&session) {
                    Ok(value) => return Ok(value),
                    Err(fault) => {
                        session.give_up();
                        self.error(fault)
                    }
                },
                Err(failure) => failure,
            };
            patience.wait_after(failure)?;
            self.give_up();
        }
    }

    /// Returns the error for a fault.
    pub fn error(&self, fault: EngineFault) -> PostgresError {
        fault.at(&self.address.shown)
    }

    /// Returns the waiting for a failure of this server.
    pub fn patience(&self) -> Patience {
        Patience { since: Instant::now(), most: self.patience, pause: PAUSES.0 }
    }
}

/// The waiting for a failure to pass.
#[derive(Debug)]
pub struct Patience {
    since: Instant,
    most: Duration,
    pause: Duration,
}

impl Patience {
    /// Waits before the next attempt.
    ///
    /// # Errors
    /// The failure, if it will not pass, or lasts too long.
    pub fn wait_after(&mut self, failure: PostgresError) -> Result<(), PostgresError> {
        if !failure.may_pass() || self.since.elapsed() > self.most {
            return Err(failure);
        }
        tracing::debug!(error = &failure as &dyn std::error::Error, "waiting for the server");
        thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(PAUSES.1);
        Ok(())
    }
}
