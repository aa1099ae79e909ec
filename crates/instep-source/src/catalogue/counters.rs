//! Counters of each set and of each hour: resources held, and changes made.

use std::collections::BTreeMap;

use super::Resource;

/// The microseconds of an hour.
pub(super) const HOUR: i64 = 3_600_000_000;

/// The hours for which counts are kept: a year, and the rest of the month in which it began.
const KEPT_HOURS: i64 = 400 * 24;

/// The number of changes of one kind in an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HourlyChanges {
    /// The hour, by its number since 1970.
    pub(super) hour: i64,
    /// The number by which the table stores the kind.
    pub(super) kind: i64,
    pub(super) changes: u64,
}

/// The differences that a transaction makes to the counters. They are written once, at its end, so that counting
/// costs no statement per row.
#[derive(Clone)]
pub(super) struct Counters {
    sets: [SetTally; 64],
    /// The number of changes by hour and kind.
    activity: BTreeMap<(i64, i64), i64>,
}

/// The difference in size of a set.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct SetTally {
    pub(super) resources: i64,
    pub(super) bytes: i64,
}

impl Counters {
    pub(super) fn new() -> Self {
        Self { sets: [SetTally::default(); 64], activity: BTreeMap::new() }
    }

    /// Adds a resource to the totals of its sets, or subtracts it (`sign` is -1).
    pub(super) fn tally(&mut self, resource: &Resource, sign: i64) {
        for (number, tally) in self.sets.iter_mut().enumerate() {
            if resource.sets & (1 << number) != 0 {
                tally.resources += sign;
                tally.bytes += sign * resource.state.length.unwrap_or_default() as i64;
            }
        }
    }

    /// Counts a change at a time in microseconds. `kind` is the number by which the table stores it.
    pub(super) fn change(&mut self, kind: i64, micros: i64) {
        *self.activity.entry((micros.div_euclid(HOUR), kind)).or_default() += 1;
    }

    /// Returns the sets whose size changes, by their numbers.
    pub(super) fn tallies(&self) -> impl Iterator<Item = (i64, SetTally)> {
        let changed = (0..).zip(&self.sets).filter(|(_, tally)| **tally != SetTally::default());
        changed.map(|(number, tally)| (number, *tally))
    }

    /// Returns hour, kind and number of changes.
    pub(super) fn activity(&self) -> impl Iterator<Item = (i64, i64, i64)> {
        self.activity.iter().map(|((hour, kind), changes)| (*hour, *kind, *changes))
    }

    /// Returns the first hour whose counts are kept; `None` if nothing has changed.
    pub(super) fn kept_from(&self) -> Option<i64> {
        self.activity.last_key_value().map(|((latest, _), _)| latest - KEPT_HOURS)
    }
}
