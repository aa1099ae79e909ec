//! The pauses between readings of a Source that is followed. Nothing waits here.

use std::time::Duration;

/// The pause between two readings of the Source while following: shorter while the Source changes, longer while it
/// does not, and never shorter than the Source requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    shortest: Duration,
    longest: Duration,
    pause: Duration,
    /// The pause after the last reading, if that failed because the Source could not be reached.
    retry: Option<Duration>,
}

/// The first pause after a Source could not be reached, also if it is read seldom.
const FIRST_RETRY: Duration = Duration::from_secs(2);

/// The shortest pause that is kept. One of 0 would not grow, and readings would follow one another without end.
const LEAST: Duration = Duration::from_millis(10);

impl Pace {
    /// Returns a pace between the shortest and the longest pause. It begins with the shortest.
    pub(crate) fn new((shortest, longest): (Duration, Duration)) -> Self {
        let shortest = shortest.max(LEAST);
        Self { shortest, longest: longest.max(shortest), pause: shortest, retry: None }
    }

    /// Returns the pause after a reading, which found something new or did not.
    pub(crate) fn after(&mut self, something_new: bool) -> Duration {
        // It shrinks faster than it grows: a Source that begins to change usually continues for a while.
        let next = if something_new { self.pause / 2 } else { self.pause.saturating_mul(3) / 2 };
        self.pause = next.clamp(self.shortest, self.longest);
        self.retry = None;
        self.pause
    }

    /// Returns the present pause.
    pub(crate) fn pause(&self) -> Duration {
        self.pause
    }

    /// Returns the pause after a failed reading, which doubles each time.
    pub(crate) fn after_failure(&mut self) -> Duration {
        self.pause = self.pause.saturating_mul(2).clamp(self.shortest, self.longest);
        self.retry = None;
        self.pause
    }

    /// Returns the pause after a reading of a Source that could not be reached. It begins short and doubles each time, because
    /// most such failures pass soon, and a Source that is read once an hour should not be missed for an hour.
    pub(crate) fn after_unreachable(&mut self) -> Duration {
        let retry = self.retry.map_or(FIRST_RETRY, |last| last.saturating_mul(2));
        let retry = retry.min(self.after_failure());
        self.retry = Some(retry);
        retry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_source_is_asked_less_and_less_and_a_busy_one_often() {
        let mut pace = Pace::new((Duration::from_secs(1), Duration::from_secs(60)));
        let quiet: Vec<_> = (0..20).map(|_| pace.after(false)).collect();
        assert!(quiet.is_sorted());
        assert_eq!(quiet.last(), Some(&Duration::from_secs(60)));
        let busy: Vec<_> = (0..20).map(|_| pace.after(true)).collect();
        assert_eq!(busy.last(), Some(&Duration::from_secs(1)));
        assert_eq!(pace.after_failure(), Duration::from_secs(2));
    }

    #[test]
    fn o912_a_pause_of_nothing_grows_too_while_a_source_is_quiet() {
        let mut pace = Pace::new((Duration::ZERO, Duration::from_secs(60)));
        let quiet: Vec<_> = (0..40).map(|_| pace.after(false)).collect();
        assert_eq!(quiet.last(), Some(&Duration::from_secs(60)));
        assert!(!Pace::new((Duration::ZERO, Duration::ZERO)).pause().is_zero());
    }

    #[test]
    fn o652_a_source_that_is_read_once_an_hour_and_cannot_be_reached_is_tried_again_soon() {
        let hour = Duration::from_secs(3_600);
        let mut pace = Pace::new((hour, hour));
        let pauses: Vec<_> = (0..20).map(|_| pace.after_unreachable()).collect();
        assert_eq!(pauses[..3], [2, 4, 8].map(Duration::from_secs));
        assert_eq!(pauses.last(), Some(&hour));
        assert_eq!(pace.after(false), hour);
        assert_eq!(pace.after_unreachable(), Duration::from_secs(2), "it begins anew");
        // One that is read more often than that is not asked less often for it.
        let moment = Duration::from_millis(100);
        assert_eq!(Pace::new((moment, moment)).after_unreachable(), moment);
    }
}
