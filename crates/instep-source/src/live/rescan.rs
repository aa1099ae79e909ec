//! The pauses before everything is scanned again, because a file or a folder could not be read. PURE.

use std::time::Duration;

/// The pause before the next such scan: each is twice as long as the one before, because a file may stay unreadable.
pub(super) struct RescanPause {
    pause: Duration,
    most: Duration,
}

impl RescanPause {
    const FIRST: Duration = Duration::from_secs(5);

    /// Returns the first pause; none is longer than `most`, the interval at which everything is scanned in any case.
    pub(super) fn new(most: Duration) -> Self {
        Self { pause: Self::FIRST, most }
    }

    /// Returns the pause after a publication that could not read some files or folders; `None` if it could.
    pub(super) fn after(&mut self, unreadable: u64, was_everything: bool) -> Option<Duration> {
        if unreadable == 0 {
            // A scan of other paths does not show that the rest can be read again.
            if was_everything {
                self.pause = Self::FIRST;
            }
            return None;
        }
        let pause = self.pause.min(self.most);
        self.pause = (pause * 2).min(self.most);
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o428_what_could_not_be_read_is_scanned_again_soon_and_then_less_and_less_often() {
        let seconds = Duration::from_secs;
        let mut rescan = RescanPause::new(seconds(18));
        assert_eq!(rescan.after(0, true), None);
        assert_eq!(rescan.after(3, true), Some(seconds(5)));
        assert_eq!(rescan.after(0, false), None);
        assert_eq!(rescan.after(3, true), Some(seconds(10)));
        assert_eq!(rescan.after(1, true), Some(seconds(18)));
        assert_eq!(rescan.after(1, true), Some(seconds(18)));
        assert_eq!(rescan.after(0, true), None);
        assert_eq!(rescan.after(1, false), Some(seconds(5)));
    }
}
