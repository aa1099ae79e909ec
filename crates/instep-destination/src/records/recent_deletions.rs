//! The record of the deletions of the last day. The guard counts over this time, so that many small runs delete no more
//! than one large run (B18).

use resourcesync::DateTime;
use serde::{Deserialize, Serialize};

use super::versioned;
use crate::{
    MaxDelete,
    state::{CopyState, ReadState, StateError},
};

const VERSION: u32 = 1;
const NAME: &str = "recent deletions";

/// The time for which a deletion counts, in seconds.
const WINDOW: i64 = 24 * 3_600;

/// The deletions of earlier runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecentDeletions {
    runs: Vec<RunDeletions>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RunDeletions {
    /// The time at which the run ended, by this machine's clock.
    at: i64,
    count: u64,
    /// The limit at that time: deletions that an operator allowed by another limit do not count against this one.
    limit: String,
}

impl RecentDeletions {
    /// Reads the deletions of earlier runs; empty if none were recorded.
    pub(crate) fn read(state: &dyn ReadState) -> Result<Self, StateError> {
        Ok(versioned::read(state, NAME, VERSION)?.unwrap_or_default())
    }

    /// Records the deletions.
    pub(crate) fn write(&self, state: &mut dyn CopyState) -> Result<(), StateError> {
        versioned::write(state, NAME, VERSION, self)
    }

    /// Returns the number of resources that runs with the same limit removed within the last day.
    pub(crate) fn count(&self, now: DateTime, limit: MaxDelete) -> u64 {
        let limit = limit.to_string();
        self.runs.iter().filter(|one| is_recent(one, now) && one.limit == limit).map(|one| one.count).sum()
    }

    /// Adds the deletions of a run, and removes those that are more than a day old. Runs of the same minute are added
    /// up.
    pub(crate) fn add(&mut self, now: DateTime, limit: MaxDelete, count: u64) {
        self.runs.retain(|one| is_recent(one, now));
        let (at, limit) = (now.instant().0, limit.to_string());
        match self.runs.iter_mut().find(|one| one.at / 60 == at / 60 && one.limit == limit) {
            Some(one) => one.count += count,
            None => self.runs.push(RunDeletions { at, count, limit }),
        }
    }
}

fn is_recent(deletions: &RunDeletions, now: DateTime) -> bool {
    (0..WINDOW).contains(&(now.instant().0 - deletions.at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b18_deletions_of_a_day_are_added_up() {
        let at = DateTime::from_unix_seconds;
        let mut recent = RecentDeletions::default();
        for round in 0..10 {
            recent.add(at(1_000 + round), MaxDelete::Default, 10);
        }
        assert_eq!(recent.count(at(2_000), MaxDelete::Default), 100);
        assert_eq!(recent.count(at(2_000), MaxDelete::Percent(50)), 0);
        assert_eq!(recent.count(at(1_009 + WINDOW), MaxDelete::Default), 0);
        recent.add(at(WINDOW * 3), MaxDelete::Default, 1);
        assert_eq!(recent.runs.len(), 1);
    }
}
