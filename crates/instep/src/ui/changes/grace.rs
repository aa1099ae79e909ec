//! The time that the receivers of changes have at the end of a run.

use std::{thread, time::Duration};

use instep_destination::Shutdown;

/// The time that a receiver has left after the run was asked to end. Changes that it has not taken are delivered again by
/// the next run.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// The shortest and the longest pause between two looks if a receiver is ready.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

/// Returns the signal that ends every wait for a receiver: it is given with that of the run, and when the time of the run
/// is over.
pub(crate) fn end_of_receivers(shutdown: &Shutdown, max_duration: Option<Duration>) -> Shutdown {
    let end = shutdown.child();
    if let Some(most) = max_duration {
        let end = end.clone();
        thread::spawn(move || {
            thread::sleep(most);
            end.request();
        });
    }
    end
}

/// The wait for a receiver, which may take any time until the run is asked to end.
pub(super) struct ReceiverWait<'s> {
    shutdown: &'s Shutdown,
    pause: Duration,
    left: Duration,
}

impl<'s> ReceiverWait<'s> {
    /// Begins to wait in a run with this signal.
    pub(super) fn new(shutdown: &'s Shutdown) -> Self {
        Self { shutdown, pause: PAUSES[0], left: GRACE }
    }

    /// Waits a moment, a little longer each time. Returns `false` if the time of the receiver is over.
    pub(super) fn wait(&mut self) -> bool {
        if self.left.is_zero() {
            return false;
        }
        thread::sleep(self.pause);
        if self.shutdown.is_requested() {
            self.left = self.left.saturating_sub(self.pause);
        }
        self.pause = (self.pause * 2).min(PAUSES[1]);
        true
    }

    /// Waits shortly again from now on: the receiver does something.
    pub(super) fn renew(&mut self) {
        self.pause = PAUSES[0];
    }
}
