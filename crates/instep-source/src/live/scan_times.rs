//! The time of the next scan, and its extent: changes that have settled, folders without watches, the regular scan of
//! everything, files that could not be read. Time is an argument. PURE.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    time::{Duration, Instant},
};

use super::{
    rescan::RescanPause,
    settle::{DueScan, Settle, Touch},
    watch::WITHOUT_WATCHES,
};

/// The delay after a failed publication before the next attempt.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// The scans that are due, now or later.
pub(super) struct ScanTimes {
    /// The changes that were reported.
    pub(super) settle: Settle,
    rescan: RescanPause,
    /// The shortest time between two publications.
    interval: Duration,
    /// The interval of scans of everything.
    scan_every: Duration,
    next_scan: Instant,
    next_unwatched: Instant,
}

impl ScanTimes {
    /// Returns the times after a scan of everything.
    pub(super) fn after_first(scan_every: Duration, interval: Duration, now: Instant) -> Self {
        Self {
            settle: Settle::default(),
            rescan: RescanPause::new(scan_every),
            interval,
            scan_every,
            next_scan: now + scan_every,
            next_unwatched: now + WITHOUT_WATCHES,
        }
    }

    /// Returns the time until a scan may be due.
    pub(super) fn wait(&self, has_unwatched: bool, now: Instant) -> Duration {
        let until = if has_unwatched { self.next_scan.min(self.next_unwatched) } else { self.next_scan };
        // A scan that is due while publications rest is waited for until they may begin again.
        let until_scan = self.settle.rested(until).saturating_duration_since(now);
        self.settle.wait(now).map_or(until_scan, |wait| wait.min(until_scan))
    }

    /// Returns the scan that is due; `None` if there is none yet.
    pub(super) fn take(&mut self, unwatched: &BTreeSet<PathBuf>, now: Instant) -> Option<DueScan> {
        if now >= self.next_scan {
            self.settle.look_at_everything();
        } else if !unwatched.is_empty() && now >= self.next_unwatched {
            for folder in unwatched {
                self.settle.touch(folder.clone(), Touch::Whole, now);
            }
            self.next_unwatched = now + WITHOUT_WATCHES;
        }
        let due = self.settle.take(now)?;
        if due == DueScan::Everything {
            self.next_scan = now + self.scan_every;
        }
        self.settle.rest_until(now + self.interval);
        Some(due)
    }

    /// Takes the number of files and folders that a scan could not read. No event comes when a disk or a limit of this
    /// process no longer keeps a file from being read.
    pub(super) fn scanned(&mut self, unreadable: u64, was_everything: bool, now: Instant) {
        if let Some(pause) = self.rescan.after(unreadable, was_everything) {
            self.next_scan = self.next_scan.min(now + pause);
        }
    }

    /// Makes everything due again after a failed publication, with a delay.
    pub(super) fn failed(&mut self, now: Instant) {
        self.settle.look_at_everything();
        self.settle.rest_until(now + AFTER_FAILURE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o536_a_scan_that_is_due_before_the_next_publication_may_begin_is_waited_for() {
        let (seconds, start) = (Duration::from_secs, Instant::now());
        let mut times = ScanTimes::after_first(seconds(600), seconds(60), start);
        times.settle.look_at_everything();
        let take = |times: &mut ScanTimes, now| times.take(&BTreeSet::new(), now);
        assert_eq!(take(&mut times, start), Some(DueScan::Everything));
        // A file could not be read, so that the next scan is due after five seconds.
        times.scanned(1, true, start);
        let later = start + seconds(10);
        assert_eq!(take(&mut times, later), None);
        assert_eq!(times.wait(false, later), seconds(50));
        assert_eq!(take(&mut times, start + seconds(60)), Some(DueScan::Everything));
    }
}
