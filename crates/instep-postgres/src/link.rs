//! Links to the server of a state: connections that are opened when they are needed, and again when they are lost.

use std::{
    thread,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use crate::{
    address::{Address, LAST_WAIT},
    error::{EngineFault, PostgresError},
    idle::{self, PooledSession},
    session::Session,
};

/// The time for which a run waits for an unreachable server: longer than a standby needs to take over.
const LONGEST_WAIT: Duration = Duration::from_secs(90);

/// The first pause and the longest one between two attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// The time within which a wait notices that the work is to end.
const NOTICED_WITHIN: Duration = Duration::from_millis(50);

/// A way to a server: a connection for each statement or transaction, opened again when one is lost.
#[derive(Debug)]
pub struct ServerLink {
    /// The server.
    pub address: Address,
    longest_wait: Duration,
}

impl ServerLink {
    /// Returns a link that waits for a server for as long as a standby needs to take over; no connection is opened yet.
    pub fn new(address: Address) -> Self {
        Self { address, longest_wait: LONGEST_WAIT }
    }

    /// Returns a link that waits at most this long, for callers that try again by other means.
    pub fn waiting_at_most(address: Address, longest_wait: Duration) -> Self {
        Self { address, longest_wait }
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
        let mut retries = self.retries();
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
            retries.wait_after(failure)?;
            self.give_up();
        }
    }

    /// Returns the error for a fault.
    pub fn error(&self, fault: EngineFault) -> PostgresError {
        fault.at(&self.address.shown)
    }

    /// Returns the attempts of one piece of work at this server.
    pub fn retries(&self) -> ServerRetries {
        let ending = self.address.ending.clone();
        ServerRetries { since: Instant::now(), most: self.longest_wait, pause: PAUSES.0, ending }
    }
}

/// The attempts of one piece of work, with growing pauses between them, until a failure has passed.
#[derive(Debug)]
pub struct ServerRetries {
    since: Instant,
    most: Duration,
    pause: Duration,
    ending: CancellationToken,
}

impl ServerRetries {
    /// Waits before the next attempt, for a moment only if the work is to end.
    ///
    /// # Errors
    /// The failure, if it will not pass, or lasts too long.
    pub fn wait_after(&mut self, failure: PostgresError) -> Result<(), PostgresError> {
        let most = if self.ending.is_cancelled() { self.most.min(LAST_WAIT) } else { self.most };
        if !failure.may_pass() || self.since.elapsed() > most {
            return Err(failure);
        }
        tracing::debug!(error = &failure as &dyn std::error::Error, "waiting for the server");
        let until = Instant::now() + self.pause;
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            thread::sleep(rest.min(NOTICED_WITHIN));
            if rest <= NOTICED_WITHIN || self.ending.is_cancelled() {
                break;
            }
        }
        self.pause = (self.pause * 2).min(PAUSES.1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn o501_work_that_is_to_end_does_not_wait_for_a_server() {
        // Nothing listens at a port that was just given back.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = Address::parse(&format!("postgres://me@127.0.0.1:{port}/copies")).unwrap();
        let ending = CancellationToken::new();
        let link = ServerLink::new(address.until(ending.clone()));
        let began = Instant::now();
        let waiting = thread::spawn(move || link.read(|session| session.execute("SELECT 1", &[])));
        ending.cancel();
        let error = waiting.join().unwrap().unwrap_err();
        assert!(error.may_pass(), "{error:?}");
        assert!(began.elapsed() < LONGEST_WAIT / 2, "it waited as long as for a failover");
    }
}
