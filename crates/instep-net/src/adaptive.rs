//! The number of transfers at a time that a host bears. PURE.

use std::time::Duration;

/// A number of transfers that rises while that does no harm, and falls when the host slows down or reports overload.
#[derive(Debug)]
pub(crate) struct AdaptiveLimit {
    now: usize,
    most: usize,
    /// Responses since the last change.
    since: usize,
    /// The average time until headers over the last responses.
    usual: Duration,
    /// The shortest time until headers. It grows slowly, so that a path that became longer is not taken for overload
    /// forever.
    best: Duration,
}

impl AdaptiveLimit {
    /// A host counts as slowed down from this multiple of its best latency on. Less is noise on busy networks.
    const SLOWER: u32 = 8;
    /// A latency below which no host counts as slowed down.
    const HARMLESS: Duration = Duration::from_millis(250);

    pub(crate) fn new(most: usize) -> Self {
        Self { now: most, most, since: 0, usual: Duration::ZERO, best: Duration::MAX }
    }

    pub(crate) fn now(&self) -> usize {
        self.now
    }

    /// Records a good response and the time until its headers.
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

    /// Records that the host reported overload, or did not answer in time.
    pub(crate) fn overloaded(&mut self) {
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
        let mut limit = AdaptiveLimit::new(8);
        limit.overloaded();
        limit.overloaded();
        assert_eq!(limit.now(), 2);
        (0..7).for_each(|_| limit.good(FAST));
        assert_eq!(limit.now(), 2);
        limit.good(FAST);
        assert_eq!(limit.now(), 3);
        (0..1000).for_each(|_| limit.good(FAST));
        assert_eq!(limit.now(), 8, "never more than was allowed");
    }

    #[test]
    fn it_falls_while_the_host_is_much_slower_than_it_can_be() {
        let mut limit = AdaptiveLimit::new(8);
        (0..32).for_each(|_| limit.good(FAST));
        (0..400).for_each(|_| limit.good(FAST * 20));
        assert!(limit.now() < 4, "{}", limit.now());
        (0..2000).for_each(|_| limit.good(FAST));
        assert_eq!(limit.now(), 8);
    }

    #[test]
    fn a_host_that_was_always_slow_is_not_slowed_down() {
        let mut limit = AdaptiveLimit::new(8);
        (0..1000).for_each(|_| limit.good(Duration::from_secs(2)));
        assert_eq!(limit.now(), 8);
    }

    #[test]
    fn one_transfer_always_remains() {
        let mut limit = AdaptiveLimit::new(1);
        (0..10).for_each(|_| limit.overloaded());
        assert_eq!(limit.now(), 1);
    }
}
