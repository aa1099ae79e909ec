//! Counters beside the tables: what each set holds, and how much changed in each hour.

use std::collections::BTreeMap;

use super::Resource;

/// Microseconds of an hour.
pub(super) const HOUR: i64 = 3_600_000_000;

/// Hours for which the number of changes is kept: a year, and the rest of the month in which it began.
const KEPT_HOURS: i64 = 400 * 24;

/// By how much a transaction changes the counters. They are written once, at its end, and not once a row: keeping them
/// costs nothing.
#[derive(Clone)]
pub(super) struct Counters {
    sets: [SetTally; 64],
    /// The number of changes by hour and kind.
    activity: BTreeMap<(i64, i64), i64>,
}

/// By how much the size of a set changes.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct SetTally {
    pub(super) resources: i64,
    pub(super) bytes: i64,
}

impl Counters {
    pub(super) fn new() -> Self {
        Self { sets: [SetTally::default(); 64], activity: BTreeMap::new() }
    }

    /// Adds a resource to the totals of its sets, or takes it off (`sign` is -1).
    pub(super) fn tally(&mut self, resource: &Resource, sign: i64) {
        for (number, tally) in self.sets.iter_mut().enumerate() {
            if resource.sets & (1 << number) != 0 {
                tally.resources += sign;
                tally.bytes += sign * resource.state.length.unwrap_or_default() as i64;
            }
        }
    }

    /// Counts a change of a kind, as the table has it, at a time in microseconds.
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
