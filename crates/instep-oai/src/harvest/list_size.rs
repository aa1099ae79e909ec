//! The number of records in a list, compared with the one that the repository states. PURE.

use crate::response::OaiResponse;

/// The records of a list so far.
#[derive(Debug)]
pub(crate) struct ListSize {
    listed: u64,
    stated: Option<u64>,
    /// `false` if an earlier harvest read the beginning of the list.
    is_counted_whole: bool,
    /// The records that were still to come when the list began again at its last datestamp.
    rest: Option<u64>,
}

impl ListSize {
    /// Begins to count, at the beginning of a list or in its middle.
    pub(crate) fn begin(is_at_begin: bool) -> Self {
        Self { listed: 0, stated: None, is_counted_whole: is_at_begin, rest: None }
    }

    /// Begins to count anew, because the list begins again at its last datestamp.
    pub(crate) fn begin_again(&mut self) {
        let stated = self.stated.filter(|_| self.is_counted_whole);
        let rest = [stated, self.rest].into_iter().flatten().max();
        let rest = rest.map(|rest| rest.saturating_sub(self.listed));
        *self = Self { rest, ..Self::begin(true) };
    }

    /// Returns `true` if fewer records came than were still to come when the list began again: it is not in the order
    /// of datestamps, and others are older than the one at which it began.
    pub(crate) fn lacks_rest(&self) -> bool {
        self.rest.is_some_and(|rest| self.listed < rest)
    }

    /// Counts a part.
    pub(crate) fn count(&mut self, part: &OaiResponse) {
        let lost = part.faults.iter().filter(|fault| fault.is_lost).count();
        self.listed += (part.records.len() + lost) as u64;
        self.stated = part.list_size.or(self.stated);
    }

    /// Returns a sentence about a list that ended before all of its records came; `None` if it did not, or nobody knows.
    pub(crate) fn shortage(&self) -> Option<String> {
        let stated = self.stated.filter(|stated| self.is_counted_whole && self.listed < *stated)?;
        Some(format!(
            "the list ended after {} records, and the repository states {stated}; nothing is deleted because of it",
            self.listed
        ))
    }
}
