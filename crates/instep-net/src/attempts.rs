//! The attempts of one piece of work.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use crate::{error::HttpError, hosts::Hosts, origin::Origin, retry};

/// A pause of at least this length is reported to the user, with the host and the time: once for all requests to the
/// host that wait (P10).
const NOTICED: Duration = Duration::from_secs(1);

/// The attempts that one piece of work has left, with the pauses between them.
#[derive(Debug)]
pub struct Attempts {
    hosts: Arc<Hosts>,
    left: u32,
    made: u32,
    backoff: Duration,
}

impl Attempts {
    pub(crate) fn new(hosts: Arc<Hosts>, left: u32, backoff: Duration) -> Self {
        Self { hosts, left, made: 0, backoff }
    }

    /// Allows no more than this number of retries.
    #[must_use]
    pub fn at_most(self, retries: u32) -> Self {
        Self { left: self.left.min(retries), ..self }
    }

    /// Waits until the next attempt may be made.
    ///
    /// # Errors
    /// The error itself, if no attempt is left or another one would not help.
    pub async fn again(&mut self, error: HttpError) -> Result<(), HttpError> {
        if self.left == 0 || !error.is_transient() {
            return Err(error);
        }
        let pause = retry::backoff(self.backoff, self.made, rand::random());
        self.left -= 1;
        let origin = error.uri().and_then(|uri| Origin::parse(uri).ok());
        let is_noticed = origin.is_some_and(|origin| {
            let host = self.hosts.get(&origin);
            host.note(|traffic| traffic.retries += 1);
            host.begins_to_wait(pause) && pause >= NOTICED
        });
        let seconds = pause.as_secs_f64();
        if is_noticed {
            tracing::warn!("{error}; retrying in {seconds:.1} s")
        } else {
            tracing::info!("{error}; retrying in {seconds:.1} s")
        }
        sleep(pause).await;
        self.made += 1;
        Ok(())
    }
}
