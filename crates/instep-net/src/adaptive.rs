//! PURE: how many transfers at a time are good for a host.

use std::time::Duration;

/// A number of transfers that rises while that does no harm, and falls when the host slows down or says that it is too much.
#[derive(Debug)]
pub(crate) struct Width {
    now: usize,
    most: usize,
    /// Responses since the last change.
    since: usize,
    /// The usual time until headers, over the last responses.
    usual: Duration,
    /// The best that it has been, slowly forgotten.
    best: Duration,
}

impl Width {
    /// Times the best latency from which on a host counts as slowed down.
    const SLOWER: u32 = 8;
    /// A latency below which nobody is in trouble.
    const HARMLESS: Duration = Duration::from_millis(250);

    pub(crate) fn new(most: usize) -> Self {
        Self { now: most, most, since: 0, usual: Duration::ZERO, best: Duration::MAX }
    }

    pub(crate) fn now(&self) -> usize {
        self.now
    }

    /// A good response came after this time.
    pub(crate) fn good(&mut self, latency: Duration) {
        self.usual = if self.usual.is_zero() { latency } else { (self.usual * 7 + latency) / 8 };
        self.best = self.best.min(latency).saturating_add(self.best.min(latency) / 1024);
        self.since += 1;
        if self.since < self.now * 4 {
            return;
        }
        self.since = 0;
        if self.usual > Self::HARMLESS && self.usual > self.best.saturating_mul(Self::SLOWER) {
            self.now = (self.now - 1).max(1);
        } else {
            self.now = (self.now + 1).min(self.most);
        }
    }

    /// The host said that it is too much, or did not answer in time.
    pub(crate) fn too_much(&mut self) {
        self.now = (self.now / 2).max(1);
        self.since = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Duration = Duration::from_millis(40);

    #[test]
    fn it_halves_when_told_and_rises_again_while_that_does_no_harm() {
        let mut width = Width::new(8);
        width.too_much();
        width.too_much();
        assert_eq!(width.now(), 2);
        (0..7).for_each(|_| width.good(FAST));
        assert_eq!(width.now(), 2);
        width.good(FAST);
        assert_eq!(width.now(), 3);
        (0..1000).for_each(|_| width.good(FAST));
        assert_eq!(width.now(), 8, "never more than was allowed");
    }

    #[test]
    fn it_falls_while_the_host_is_much_slower_than_it_can_be() {
        let mut width = Width::new(8);
        (0..32).for_each(|_| width.good(FAST));
        (0..400).for_each(|_| width.good(FAST * 20));
        assert!(width.now() < 4, "{}", width.now());
        (0..2000).for_each(|_| width.good(FAST));
        assert_eq!(width.now(), 8);
    }

    #[test]
    fn a_host_that_was_always_slow_is_not_slowed_down() {
        let mut width = Width::new(8);
        (0..1000).for_each(|_| width.good(Duration::from_secs(2)));
        assert_eq!(width.now(), 8);
    }

    #[test]
    fn one_transfer_always_remains() {
        let mut width = Width::new(1);
        (0..10).for_each(|_| width.too_much());
        assert_eq!(width.now(), 1);
    }
}
