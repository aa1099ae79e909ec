//! Steps to more parallel transfers than requested, as long as each step increases throughput. PURE.

use std::time::Duration;

/// A search for the most useful number of parallel requests to a host whose connection carries many.
///
/// Each step adds half of the present number. It is judged by the answers per second while nearly all of the
/// permitted transfers were in use. A step that brings less than a quarter of what it adds is reverted, and tried
/// again much later.
#[derive(Debug)]
pub(crate) struct Widening {
    widest: usize,
    /// Answers that belong to requests of the step before, and are not counted.
    stale: usize,
    counted: usize,
    began: Option<Duration>,
    /// The step before, and its answers a second.
    before: Option<(usize, f64)>,
    /// The number of measurements until the next step is tried.
    rest: usize,
    /// The number before the first step; after an overload there are no further steps.
    first: Option<usize>,
    is_over: bool,
}

impl Widening {
    /// The fewest answers in a measurement.
    const FEWEST: usize = 32;
    /// The part of a step that must show as additional throughput.
    const GAIN: f64 = 0.25;
    /// Measurements between two attempts.
    const REST: usize = 64;

    pub(crate) fn new(widest: usize) -> Self {
        Self { widest, stale: 0, counted: 0, began: None, before: None, rest: 0, first: None, is_over: false }
    }

    /// Ends the search for good, and returns the remaining number: a host never again gets more requests than it
    /// handled.
    pub(crate) fn end(&mut self, most: usize) -> usize {
        self.is_over = true;
        self.first.map_or(most, |first| first.max(most / 2).min(most))
    }

    /// Records an answer while `window` transfers were permitted, of which `free` were unused. Returns the new number
    /// if it changes.
    pub(crate) fn answered(&mut self, window: usize, at: Duration, free: usize) -> Option<usize> {
        if self.is_over {
            return None;
        }
        if free > window / 4 {
            // Something else limits the transfers, so they show nothing about the host.
            (self.counted, self.began) = (0, None);
            return None;
        }
        if self.stale > 0 {
            self.stale -= 1;
            return None;
        }
        let began = *self.began.get_or_insert(at);
        self.counted += 1;
        if self.counted <= (window * 2).max(Self::FEWEST) {
            return None;
        }
        let rate = (self.counted - 1) as f64 / at.saturating_sub(began).as_secs_f64().max(1e-6);
        (self.counted, self.began) = (0, None);
        let next = self.next(window, rate);
        self.stale = if next.is_some() { window } else { 0 };
        next
    }

    /// Decides after a measurement.
    fn next(&mut self, window: usize, rate: f64) -> Option<usize> {
        if self.rest > 0 {
            self.rest -= 1;
            return None;
        }
        match self.before {
            Some((narrower, slower)) if rate < slower * expected(narrower, window) => {
                (self.before, self.rest) = (None, Self::REST);
                return Some(narrower);
            }
            _ if window >= self.widest => {
                (self.before, self.rest) = (None, Self::REST);
                return None;
            }
            _ => {}
        }
        self.first.get_or_insert(window);
        self.before = Some((window, rate));
        Some((window + window.div_ceil(2)).min(self.widest))
    }
}

/// Returns the factor by which a step must at least increase the answers.
fn expected(narrower: usize, window: usize) -> f64 {
    1.0 + (window as f64 / narrower as f64 - 1.0) * Widening::GAIN
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that answers each request after a round trip, but no more than so many a second.
    struct FarHost {
        round_trip: f64,
        most: f64,
        now: Duration,
    }

    impl FarHost {
        fn new(round_trip: f64, most: f64) -> Self {
            Self { round_trip, most, now: Duration::ZERO }
        }

        /// Answers many requests, and returns the number of transfers at a time that was found.
        fn answer(&mut self, widening: &mut Widening, mut window: usize, answers: usize) -> usize {
            for _ in 0..answers {
                let rate = (window as f64 / self.round_trip).min(self.most);
                self.now += Duration::from_secs_f64(rate.recip());
                window = widening.answered(window, self.now, 0).unwrap_or(window);
            }
            window
        }
    }

    #[test]
    fn a_host_that_is_far_away_gets_as_many_as_are_allowed() {
        let mut host = FarHost::new(0.1, 1e9);
        assert_eq!(host.answer(&mut Widening::new(256), 64, 5_000), 256);
        assert_eq!(host.answer(&mut Widening::new(64), 8, 2_000), 64);
    }

    #[test]
    fn a_host_gets_no_more_than_brings_more() {
        // 500 a second at 100 ms: more than 50 at a time only wait.
        let mut host = FarHost::new(0.1, 500.0);
        let found = host.answer(&mut Widening::new(1_000), 8, 3_000);
        assert!((50..=80).contains(&found), "{found}");
        // Near, and busy: none is gained by more.
        let mut near = FarHost::new(0.0001, 10_000.0);
        assert_eq!(near.answer(&mut Widening::new(1_000), 8, 1_500), 8);
    }

    #[test]
    fn a_host_that_became_faster_is_tried_again() {
        let mut host = FarHost::new(0.1, 80.0);
        let mut widening = Widening::new(64);
        assert_eq!(host.answer(&mut widening, 8, 1_000), 8);
        host.most = 1e9;
        assert_eq!(host.answer(&mut widening, 8, 10_000), 64);
    }

    #[test]
    fn nothing_is_concluded_while_few_are_under_way() {
        let mut widening = Widening::new(64);
        let next = (0..10_000).filter_map(|n| widening.answered(8, Duration::from_millis(n), 3));
        assert_eq!(next.count(), 0);
    }

    #[test]
    fn overload_ends_it_at_half_and_never_below_what_was_asked_for() {
        for (most, left) in [(60, 30), (12, 8)] {
            let mut widening = Widening::new(64);
            FarHost::new(0.1, 1e9).answer(&mut widening, 8, 100);
            assert_eq!(widening.end(most), left);
            assert_eq!(FarHost::new(0.1, 1e9).answer(&mut widening, left, 10_000), left);
        }
        assert_eq!(Widening::new(64).end(8), 8, "no step was made");
    }
}
