//! Growing pauses after repeated failures of a channel. PURE: time is an argument.

use std::time::Duration;

/// A pause that doubles with each failure, and starts over after a longer time without failures.
#[derive(Debug)]
pub(super) struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    /// Returns a pause between these bounds.
    pub(super) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, next: first }
    }

    /// Returns the pause after a failure that followed `well` without failures. The pauses start over only if that time
    /// is at least a minute and at least the next pause: a channel that opens and closes at once is no better than one
    /// that does not open (B23).
    pub(super) fn after(&mut self, well: Duration) -> Duration {
        const STABLE: Duration = Duration::from_secs(60);
        if well >= STABLE.max(self.next) {
            self.next = self.first;
        }
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn b23_a_channel_that_opens_and_closes_is_opened_less_and_less() {
        let mut backoff = Backoff::new(SECOND, 120 * SECOND);
        let mut passed = Duration::ZERO;
        let mut opened = 0;
        while passed < 3_600 * SECOND {
            passed += backoff.after(Duration::from_millis(5));
            opened += 1;
        }
        assert!(opened < 40, "{opened} in an hour");
    }

    #[test]
    fn a_channel_that_was_open_for_a_long_time_is_reopened_soon() {
        let mut backoff = Backoff::new(SECOND, 120 * SECOND);
        for _ in 0..10 {
            backoff.after(Duration::ZERO);
        }
        assert_eq!(backoff.after(119 * SECOND), 120 * SECOND);
        assert_eq!(backoff.after(120 * SECOND), SECOND);
    }
}
