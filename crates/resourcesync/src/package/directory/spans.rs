//! Overlaps of members.

use crate::package::entry::LOCAL_SIZE;

/// The parts of the file that members occupy. Neighbours with less than a header between them are one span, so that a
/// package in order is a single span, however many members it has.
#[derive(Debug, Default)]
pub(super) struct Spans(Vec<(u64, u64)>);

impl Spans {
    /// Adds a member from its header to its last byte. Returns `true` if it overlaps the one before it.
    pub(super) fn add(&mut self, start: u64, end: u64) -> bool {
        match self.0.last_mut() {
            Some((first, last)) if start < *last && end > *first => return true,
            Some((_, last)) if start >= *last && start - *last < LOCAL_SIZE as u64 => *last = end,
            _ => self.0.push((start, end)),
        }
        false
    }

    /// Returns the start of the first span, and of one that starts within another. Called after the last member.
    pub(super) fn settle(&mut self) -> (Option<u64>, Option<u64>) {
        self.0.sort_unstable();
        let mut free_from = 0;
        let overlaps = self.0.iter().find(|(start, end)| {
            let overlaps = *start < free_from;
            free_from = free_from.max(*end);
            overlaps
        });
        let overlap = overlaps.map(|(start, _)| *start);
        (self.0.first().map(|(start, _)| *start), overlap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(of: &[(u64, u64)]) -> (Spans, bool) {
        let mut spans = Spans::default();
        let overlaps = of.iter().filter(|(start, end)| spans.add(*start, *end)).count() > 0;
        (spans, overlaps)
    }

    #[test]
    fn members_in_order_are_one_span() {
        let members: Vec<(u64, u64)> = (0..1_000).map(|n| (n * 100, n * 100 + 90)).collect();
        let (mut spans, overlaps) = spans(&members);
        assert!(!overlaps);
        assert_eq!(spans.0, [(0, 99_990)]);
        assert_eq!(spans.settle(), (Some(0), None));
    }

    #[test]
    fn zip_7_an_overlap_is_found_in_any_order() {
        let apart = [(200, 300), (0, 100), (100, 200)];
        assert_eq!(spans(&apart).0.settle(), (Some(0), None));
        for overlapping in [[(200, 300), (0, 100), (90, 200)], [(0, 300), (400, 500), (100, 200)]] {
            let (mut spans, at_once) = spans(&overlapping);
            assert!(at_once || spans.settle().1.is_some(), "{overlapping:?}");
        }
        assert!(spans(&[(0, 100), (0, 100)]).1, "the same bytes twice");
    }
}
