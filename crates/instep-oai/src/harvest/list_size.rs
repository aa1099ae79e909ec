//! The number of records in a list, compared with the one that the repository states. PURE.

use super::state::ListPosition;
use crate::{
    datestamp::{Granularity, seconds},
    response::OaiResponse,
};

/// The records of a list so far.
#[derive(Debug)]
pub(crate) struct ListSize {
    listed: u64,
    stated: Option<u64>,
    /// `false` if an earlier harvest read the beginning of the list.
    is_counted_whole: bool,
    /// `true` if the list began again at its last datestamp.
    has_begun_later: bool,
    /// The records that were to come when the list began again at its last datestamp; `None` if nobody knows.
    rest: Option<u64>,
    /// The largest datestamp, as precise as those in requests.
    latest: Option<i64>,
    /// The records that have it: they come again if the list begins again there.
    at_latest: u64,
}

impl ListSize {
    /// Begins to count at the beginning of a list.
    pub(crate) fn begin() -> Self {
        Self {
            listed: 0,
            stated: None,
            is_counted_whole: true,
            has_begun_later: false,
            rest: None,
            latest: None,
            at_latest: 0,
        }
    }

    /// Begins to count a list at a position, up to which an earlier harvest may have read it.
    pub(crate) fn resume(at: &ListPosition) -> Self {
        Self { is_counted_whole: at.token.is_none(), has_begun_later: at.has_begun_later(), ..Self::begin() }
    }

    /// Begins to count anew, because the list begins again where it began before.
    pub(crate) fn begin_again(&mut self) {
        let (has_begun_later, rest) = (self.has_begun_later, self.rest);
        *self = Self { has_begun_later, rest, ..Self::begin() };
    }

    /// Begins to count anew, because the list begins again at its last datestamp.
    pub(crate) fn begin_later(&mut self) {
        // Some repositories state 0, or less than they have sent.
        let stated = self.stated.filter(|stated| *stated >= self.listed);
        let to_come = match self.has_begun_later {
            true => self.rest.map(|rest| rest.max(stated.unwrap_or_default())),
            false => stated.filter(|_| self.is_counted_whole),
        };
        let rest = to_come.map(|to_come| to_come.saturating_sub(self.listed) + self.at_latest);
        *self = Self { has_begun_later: true, rest, ..Self::begin() };
    }

    /// Returns `true` if fewer records came than were to come when the list began again: it is not in the order of
    /// datestamps, and others are older than the one at which it began.
    pub(crate) fn lacks_rest(&self) -> bool {
        self.rest.is_some_and(|rest| self.listed < rest)
    }

    /// Returns `true` if all records came that the repository states; `false` if some did not, or nobody knows.
    pub(crate) fn is_complete(&self) -> bool {
        match self.has_begun_later {
            true => self.rest.is_some_and(|rest| self.listed >= rest),
            false => {
                self.is_counted_whole && self.stated.is_some_and(|stated| stated > 0 && self.listed >= stated)
            }
        }
    }

    /// Counts a part; its datestamps are as precise as those of a granularity.
    pub(crate) fn count(&mut self, part: &OaiResponse, granularity: Granularity) {
        let lost = part.faults.iter().filter(|fault| fault.is_lost).count();
        self.listed += (part.records.len() + lost) as u64;
        self.stated = part.list_size.or(self.stated);
        for record in &part.records {
            let at = seconds(&record.datestamp).map(|at| granularity.rounded_down(at));
            if at > self.latest {
                (self.latest, self.at_latest) = (at, 0);
            }
            self.at_latest += u64::from(at == self.latest);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::OaiRecord;

    /// Returns a part with records of these days, and the size that it states.
    fn part(days: &[u8], list_size: Option<u64>) -> OaiResponse {
        let record =
            |day: &u8| OaiRecord { datestamp: format!("2026-01-{day:02}T12:00:00Z"), ..OaiRecord::default() };
        OaiResponse { records: days.iter().map(record).collect(), list_size, ..OaiResponse::default() }
    }

    #[test]
    fn o779_records_that_come_again_do_not_count_for_those_that_are_to_come() {
        let mut size = ListSize::begin();
        size.count(&part(&[7, 7, 7], Some(5)), Granularity::Second);
        size.begin_later();
        size.count(&part(&[7, 7, 7], None), Granularity::Second);
        assert!(size.lacks_rest() && !size.is_complete(), "two are older: {size:?}");

        let mut size = ListSize::begin();
        size.count(&part(&[6, 7], Some(5)), Granularity::Day);
        size.begin_later();
        size.count(&part(&[7, 8], None), Granularity::Day);
        size.begin_later();
        size.count(&part(&[8, 9, 9], None), Granularity::Day);
        assert!(!size.lacks_rest() && size.is_complete(), "{size:?}");
    }

    #[test]
    fn o779_nobody_knows_the_rest_of_a_list_without_a_credible_size() {
        for stated in [None, Some(0), Some(2)] {
            let mut size = ListSize::begin();
            size.count(&part(&[6, 7, 7], stated), Granularity::Second);
            size.begin_later();
            size.count(&part(&[7, 7, 8], Some(3)), Granularity::Second);
            assert!(!size.lacks_rest() && !size.is_complete(), "{size:?}");
            // Nor does a size that is stated later say anything about the records before it.
            size.begin_later();
            size.count(&part(&[8], Some(1)), Granularity::Second);
            assert!(!size.lacks_rest() && !size.is_complete(), "{size:?}");
        }
        // An earlier harvest read the beginning.
        let mut size =
            ListSize::resume(&ListPosition { token: Some("next".to_owned()), ..ListPosition::default() });
        size.count(&part(&[6, 7], Some(9)), Granularity::Second);
        size.begin_later();
        assert!(!size.lacks_rest() && !size.is_complete(), "{size:?}");
    }
}
