//! Counters beside the tables: what each set holds, and how much changed in each hour.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

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

#[derive(Clone, Copy, Default, PartialEq)]
struct SetTally {
    resources: i64,
    bytes: i64,
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

    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut add = connection.prepare_cached(
            "INSERT INTO tally VALUES (?1, ?2, ?3) ON CONFLICT (number) DO UPDATE
             SET resources = resources + excluded.resources, bytes = bytes + excluded.bytes",
        )?;
        for (number, tally) in
            self.sets.iter().enumerate().filter(|(_, tally)| **tally != SetTally::default())
        {
            add.execute(params![number as i64, tally.resources, tally.bytes])?;
        }
        self.write_activity(connection)
    }

    fn write_activity(&self, connection: &Connection) -> rusqlite::Result<()> {
        let Some(((latest, _), _)) = self.activity.last_key_value() else { return Ok(()) };
        let mut add = connection.prepare_cached(
            "INSERT INTO activity VALUES (?1, ?2, ?3) ON CONFLICT (hour, kind) DO UPDATE
             SET changes = changes + excluded.changes",
        )?;
        for ((hour, kind), changes) in &self.activity {
            add.execute(params![hour, kind, changes])?;
        }
        let mut drop_old = connection.prepare_cached("DELETE FROM activity WHERE hour < ?1")?;
        drop_old.execute([latest - KEPT_HOURS]).map(drop)
    }
}
