//! The deletions of the last hour: a folder that is emptied slowly must not slip past the guard in small portions.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

const WINDOW: Duration = Duration::from_secs(3_600);

/// Deletions by set, each with the time of its publication and the last change before it.
#[derive(Debug, Default)]
pub(crate) struct DeletionWindow(VecDeque<(Instant, u64, Vec<u64>)>);

impl DeletionWindow {
    /// Returns the deletions of a set within the last hour.
    pub(crate) fn of_set(&self, set: usize, now: Instant) -> u64 {
        self.recent(now).filter_map(|(_, _, counts)| counts.get(set)).sum()
    }

    /// Returns the last change before these deletions; `None` if there are none.
    pub(crate) fn begin(&self, now: Instant) -> Option<u64> {
        self.recent(now).map(|(_, after, _)| *after).next()
    }

    fn recent(&self, now: Instant) -> impl Iterator<Item = &(Instant, u64, Vec<u64>)> {
        self.0.iter().filter(move |(time, ..)| now.saturating_duration_since(*time) < WINDOW)
    }

    /// Adds the deletions of a publication, which come after a change.
    pub(crate) fn add(&mut self, counts: &[u64], after: u64, now: Instant) {
        while self.0.front().is_some_and(|(time, ..)| now.saturating_duration_since(*time) >= WINDOW) {
            self.0.pop_front();
        }
        if counts.iter().any(|count| *count > 0) {
            self.0.push_back((now, after, counts.to_vec()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletions_count_for_an_hour() {
        let (mut recent, start) = (DeletionWindow::default(), Instant::now());
        assert_eq!(recent.begin(start), None);
        recent.add(&[3, 1], 7, start);
        recent.add(&[0, 0], 11, start + Duration::from_secs(1));
        recent.add(&[4], 12, start + Duration::from_secs(3_000));
        assert_eq!(recent.begin(start + Duration::from_secs(3_001)), Some(7));
        assert_eq!(recent.begin(start + Duration::from_secs(3_600)), Some(12));
        assert_eq!(recent.of_set(0, start + Duration::from_secs(3_001)), 7);
        assert_eq!(recent.of_set(1, start + Duration::from_secs(3_001)), 1);
        assert_eq!(recent.of_set(0, start + Duration::from_secs(3_600)), 4);
        assert_eq!(recent.of_set(9, start), 0);
    }
}
