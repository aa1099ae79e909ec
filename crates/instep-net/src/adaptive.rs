//! The number of parallel transfers that a host can handle. PURE.

use std::time::Duration;

use crate::widening::Widening;

/// A number of transfers that rises while that does no harm, and falls when the host slows down or reports overload.
#[derive(Debug)]
pub(crate) struct AdaptiveLimit {
    now: usize,
    most: usize,
    /// Responses since the last change.
    since: usize,
    /// The average time until headers over the last responses.
    usual: Duration,
    /// The shortest time until headers. It grows slowly, so that a path that became longer does not count as overload
    /// forever.
    best: Duration,
    /// Steps beyond the requested number, over HTTP/2.
    widening: Option<Widening>,
}

impl AdaptiveLimit {
    /// A host counts as slowed down from this multiple of its best latency on. Less is noise on busy networks.
    const SLOWER: u32 = 8;
    /// A latency below which no host counts as slowed down.
    const HARMLESS: Duration = Duration::from_millis(250);

    pub(crate) fn new(most: usize) -> Self {
        Self { now: most, most, since: 0, usual: Duration::ZERO, best: Duration::MAX, widening: None }
    }

    pub(crate) fn now(&self) -> usize {
        self.now
    }

    /// Returns the number that it rises to while that does no harm.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Allows a further increase, as long as throughput grows.
    pub(crate) fn widen_to(&mut self, widest: usize) {
        if widest > self.most && self.widening.is_none() {
            self.widening = Some(Widening::new(widest));
        }
    }

    /// Records a good response, the time until its headers, and how many more transfers could be under way now.
    pub(crate) fn good(&mut self, latency: Duration, at: Duration, free: usize) {
        self.usual = if self.usual.is_zero() { latency } else { (self.usual * 7 + latency) / 8 };
        self.best = self.best.min(latency).saturating_add(self.best.min(latency) / 1024);
        if self.now == self.most
            && let Some(widening) = &mut self.widening
            && let Some(window) = widening.answered(self.now, at, free)
        {
            (self.now, self.most, self.since) = (window, window, 0);
            return;
        }
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
        if let Some(widening) = &mut self.widening {
            self.most = widening.end(self.most);
        }
        self.now = (self.now / 2).clamp(1, self.most);
        self.since = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Duration = Duration::from_millis(40);

    fn good(limit: &mut AdaptiveLimit, latency: Duration) {
        limit.good(latency, Duration::ZERO, 0);
    }

    #[test]
    fn it_halves_when_told_and_rises_again_while_that_does_no_harm() {
        let mut limit = AdaptiveLimit::new(8);
        limit.overloaded();
        limit.overloaded();
        assert_eq!(limit.now(), 2);
        (0..7).for_each(|_| good(&mut limit, FAST));
        assert_eq!(limit.now(), 2);
        good(&mut limit, FAST);
        assert_eq!(limit.now(), 3);
        (0..1000).for_each(|_| good(&mut limit, FAST));
        assert_eq!(limit.now(), 8, "never more than was allowed");
    }

    #[test]
    fn it_falls_while_the_host_is_much_slower_than_it_can_be() {
        let mut limit = AdaptiveLimit::new(8);
        (0..32).for_each(|_| good(&mut limit, FAST));
        (0..400).for_each(|_| good(&mut limit, FAST * 20));
        assert!(limit.now() < 4, "{}", limit.now());
        (0..2000).for_each(|_| good(&mut limit, FAST));
        assert_eq!(limit.now(), 8);
    }

    #[test]
    fn a_host_that_was_always_slow_is_not_slowed_down() {
        let mut limit = AdaptiveLimit::new(8);
        (0..1000).for_each(|_| good(&mut limit, Duration::from_secs(2)));
        assert_eq!(limit.now(), 8);
    }

    #[test]
    fn one_transfer_always_remains() {
        let mut limit = AdaptiveLimit::new(1);
        (0..10).for_each(|_| limit.overloaded());
        assert_eq!(limit.now(), 1);
    }
}
