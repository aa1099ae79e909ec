//! The time at which a changed file is inspected: as soon as its writer is done, or seems to be. PURE: time is an
//! argument.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};

/// The time without an event after which a file counts as written, if its writer does not close it.
const QUIET: Duration = Duration::from_millis(100);
/// The longest wait for such a file: one that is written all the time is published too.
const MOST_WAIT: Duration = Duration::from_secs(1);
/// More paths than this are cheaper to find by a scan of everything.
const MOST_PATHS: usize = 10_000;

/// An event of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    /// The file was closed after writing, or got its name by a rename: it is complete, and scanned at once.
    Whole,
    /// Something else happened to the path: it is scanned once it is quiet.
    Moving,
}

/// The paths to scan next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DueScan {
    /// All content: events were lost, or too many paths changed.
    Everything,
    /// These files and folders; empty if an application has recorded the changes.
    Paths(Vec<PathBuf>),
}

/// Changed paths that are not inspected yet.
#[derive(Debug, Default)]
pub(super) struct Settle {
    paths: BTreeMap<PathBuf, Waiting>,
    everything: bool,
    recorded: Option<Instant>,
    not_before: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    since: Instant,
    until: Instant,
}

impl Settle {
    /// Records an event of a path.
    pub(super) fn touch(&mut self, path: PathBuf, touch: Touch, now: Instant) {
        if self.everything {
            return;
        }
        let waiting = self.paths.entry(path).or_insert(Waiting { since: now, until: now });
        waiting.until = match touch {
            Touch::Whole => now,
            Touch::Moving => (now + QUIET).min(waiting.since + MOST_WAIT),
        };
        if self.paths.len() > MOST_PATHS {
            self.look_at_everything();
        }
    }

    /// Records that events are missing, so that only a complete scan finds the changes.
    pub(super) fn look_at_everything(&mut self) {
        self.paths.clear();
        self.everything = true;
    }

    /// Records that an application has written changes into the catalogue.
    pub(super) fn recorded(&mut self, now: Instant) {
        self.recorded.get_or_insert(now);
    }

    /// Sets the time before which nothing is taken.
    pub(super) fn rest_until(&mut self, moment: Instant) {
        self.not_before = Some(moment);
    }

    /// Returns a moment, or the end of the rest, before which nothing is taken, if that is later.
    pub(super) fn rested(&self, moment: Instant) -> Instant {
        self.not_before.map_or(moment, |rest| rest.max(moment))
    }

    /// Returns the time until a path is due; `None` if no path waits.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        let settled = if self.everything {
            Some(now)
        } else {
            self.paths.values().map(|waiting| waiting.until).chain(self.recorded).min()
        };
        let due = settled?.max(self.not_before.unwrap_or(now));
        Some(due.saturating_duration_since(now))
    }

    /// Takes the settled paths.
    pub(super) fn take(&mut self, now: Instant) -> Option<DueScan> {
        if self.not_before.is_some_and(|rest| now < rest) {
            return None;
        }
        let recorded = self.recorded.take().is_some();
        if std::mem::take(&mut self.everything) {
            return Some(DueScan::Everything);
        }
        let (settled, waiting): (BTreeMap<_, _>, _) =
            std::mem::take(&mut self.paths).into_iter().partition(|(_, waiting)| waiting.until <= now);
        self.paths = waiting;
        (recorded || !settled.is_empty()).then(|| DueScan::Paths(settled.into_keys().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn paths(names: &[&str]) -> Option<DueScan> {
        Some(DueScan::Paths(names.iter().map(PathBuf::from).collect()))
    }

    #[test]
    fn a_file_that_is_closed_is_taken_at_once() {
        let (mut settle, start) = (Settle::default(), Instant::now());
        settle.touch("a".into(), Touch::Moving, start);
        assert_eq!(settle.take(start), None);
        settle.touch("a".into(), Touch::Whole, start + MS);
        assert_eq!(settle.wait(start + MS), Some(Duration::ZERO));
        assert_eq!(settle.take(start + MS), paths(&["a"]));
        assert_eq!(settle.wait(start + MS), None);
    }

    #[test]
    fn a_file_that_moves_is_taken_after_quiet_or_patience() {
        let (mut settle, start) = (Settle::default(), Instant::now());
        settle.touch("quiet".into(), Touch::Moving, start);
        for step in 0..30 {
            settle.touch("busy".into(), Touch::Moving, start + MS * 50 * step);
        }
        assert_eq!(settle.take(start + MS * 99), None);
        assert_eq!(settle.take(start + MS * 100), paths(&["quiet"]));
        assert_eq!(settle.wait(start + MS * 100), Some(MS * 900));
        assert_eq!(settle.take(start + MS * 1_000), paths(&["busy"]));
    }

    #[test]
    fn rest_delays_what_has_settled_and_joins_it() {
        let (mut settle, start) = (Settle::default(), Instant::now());
        settle.rest_until(start + MS * 50);
        settle.touch("a".into(), Touch::Whole, start);
        settle.touch("b".into(), Touch::Whole, start + MS * 10);
        assert_eq!(settle.take(start + MS * 10), None);
        assert_eq!(settle.wait(start + MS * 10), Some(MS * 40));
        assert_eq!(settle.take(start + MS * 50), paths(&["a", "b"]));
    }

    #[test]
    fn lost_events_and_too_many_paths_lead_to_a_look_at_everything() {
        let (mut settle, start) = (Settle::default(), Instant::now());
        for number in 0..=MOST_PATHS {
            settle.touch(number.to_string().into(), Touch::Whole, start);
        }
        assert!(settle.paths.is_empty());
        assert_eq!(settle.take(start), Some(DueScan::Everything));
        settle.look_at_everything();
        assert_eq!(settle.wait(start), Some(Duration::ZERO));
        assert_eq!(settle.take(start), Some(DueScan::Everything));
        assert_eq!(settle.take(start), None);
    }
}
