//! The time in which a host gets no requests.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::{Instant, sleep_until};

use crate::{error::HttpError, origin::Origin};

/// A time in which a host gets no requests.
#[derive(Clone, Copy)]
pub(crate) enum Pause {
    /// The host requested it. Requests wait.
    CoolDown(Instant),
    /// The host only failed. Requests fail at once.
    Broken(Instant),
}

impl Pause {
    pub(crate) fn until(self) -> Instant {
        let (Self::CoolDown(until) | Self::Broken(until)) = self;
        until
    }
}

/// The pause of a host, if it has one.
#[derive(Default)]
pub(crate) struct HostPause(Mutex<Option<Pause>>);

impl HostPause {
    fn lock(&self) -> MutexGuard<'_, Option<Pause>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a pause unless a longer one is under way.
    pub(crate) fn begin(&self, pause: Pause) {
        let mut held = self.lock();
        if held.is_none_or(|held| held.until() < pause.until()) {
            *held = Some(pause);
        }
    }

    /// Returns the pause that is under way.
    pub(crate) fn current(&self) -> Option<Pause> {
        let pause = *self.lock();
        pause.filter(|pause| pause.until() > Instant::now())
    }

    /// Waits for its end; an error if the host only failed.
    pub(crate) async fn wait(&self, origin: &Origin) -> Result<(), HttpError> {
        // A pause may be prolonged while it is waited for.
        while let Some(pause) = self.current() {
            match pause {
                Pause::CoolDown(until) => sleep_until(until).await,
                Pause::Broken(until) => {
                    let (host, pause) = (origin.to_string(), until - Instant::now());
                    return Err(HttpError::HostDown { host, pause });
                }
            }
        }
        Ok(())
    }
}
