//! The number of records in a list, compared with the one that the repository states. PURE.

use crate::response::OaiResponse;

/// The records of a list so far.
#[derive(Debug)]
pub(crate) struct ListSize {
    listed: u64,
    stated: Option<u64>,
    /// `false` if an earlier harvest read the beginning of the list.
    is_counted_whole: bool,
}

impl ListSize {
    /// Begins to count, at the beginning of a list or in its middle.
    pub(crate) fn begin(is_at_begin: bool) -> Self {
        Self { listed: 0, stated: None, is_counted_whole: is_at_begin }
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
