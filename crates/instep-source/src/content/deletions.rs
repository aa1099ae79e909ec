//! The deletions of the last hour: a folder that is emptied slowly must not slip past the guard in small portions.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

const WINDOW: Duration = Duration::from_secs(3_600);

/// Deletions by set, each with the time of its publication.
#[derive(Debug, Default)]
pub(crate) struct DeletionWindow(VecDeque<(Instant, Vec<u64>)>);

impl DeletionWindow {
    /// Returns the deletions of a set within the last hour.
    pub(crate) fn of_set(&self, set: usize, now: Instant) -> u64 {
        let recent = self.0.iter().filter(|(time, _)| now.saturating_duration_since(*time) < WINDOW);
        recent.filter_map(|(_, counts)| counts.get(set)).sum()
    }

    /// Adds the deletions of a publication.
    pub(crate) fn add(&mut self, counts: &[u64], now: Instant) {
        while self.0.front().is_some_and(|(time, _)| now.saturating_duration_since(*time) >= WINDOW) {
            self.0.pop_front();
        }
        if counts.iter().any(|count| *count > 0) {
            self.0.push_back((now, counts.to_vec()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletions_count_for_an_hour() {
        let (mut recent, start) = (DeletionWindow::default(), Instant::now());
        recent.add(&[3, 1], start);
        recent.add(&[0, 0], start + Duration::from_secs(1));
        recent.add(&[4], start + Duration::from_secs(3_000));
        assert_eq!(recent.of_set(0, start + Duration::from_secs(3_001)), 7);
        assert_eq!(recent.of_set(1, start + Duration::from_secs(3_001)), 1);
        assert_eq!(recent.of_set(0, start + Duration::from_secs(3_600)), 4);
        assert_eq!(recent.of_set(9, start), 0);
    }
}
