//! The pauses between readings of a Source that is followed. Nothing waits here.

use std::time::Duration;

/// The pause between two readings of the Source while following: shorter while the Source changes, longer while it
/// does not, and never shorter than the Source requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    shortest: Duration,
    longest: Duration,
    pause: Duration,
}

impl Pace {
    /// Returns a pace between the shortest and the longest pause. It begins with the shortest.
    pub(crate) fn new((shortest, longest): (Duration, Duration)) -> Self {
        Self { shortest, longest: longest.max(shortest), pause: shortest }
    }

    /// Returns the pause after a reading, which found something new or did not.
    pub(crate) fn after(&mut self, something_new: bool) -> Duration {
        // It shrinks faster than it grows: a Source that begins to change usually continues for a while.
        let next = if something_new { self.pause / 2 } else { self.pause.saturating_mul(3) / 2 };
        self.pause = next.clamp(self.shortest, self.longest);
        self.pause
    }

    /// Returns the present pause.
    pub(crate) fn pause(&self) -> Duration {
        self.pause
    }

    /// Returns the pause after a failed reading, which doubles each time.
    pub(crate) fn after_failure(&mut self) -> Duration {
        self.pause = self.pause.saturating_mul(2).clamp(self.shortest, self.longest);
        self.pause
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
}
