//! The heartbeats of other workers: decides whose heartbeat has been unchanged for so long that the worker is dead.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::state::SharerId;

/// The time without a heartbeat after which a worker's share of a plan counts as dead. It is half of that after which the
/// worker itself does, because a share that is ended too early costs one group, and no run.
const DEAD_AFTER: Duration = Duration::from_secs(10);

/// The most that one pause between two answers counts as time in which the database answered: a worker that was
/// stopped, or could not reach the database, cannot conclude that others sent no heartbeat.
const MOST_BETWEEN: Duration = Duration::from_secs(4);

/// The heartbeats of other workers, as seen by one of them. Times are those of its own clock, from any start.
#[derive(Debug, Default)]
pub(crate) struct BeatWatch {
    looked: Option<Duration>,
    /// The heartbeat of each, and the time for which it has been unchanged.
    seen: BTreeMap<SharerId, (i64, Duration)>,
}

impl BeatWatch {
    /// Updates the heartbeats, and returns the workers that are dead.
    pub(crate) fn look(&mut self, now: Duration, beats: &[(SharerId, i64)]) -> Vec<(SharerId, i64)> {
        let passed = self.looked.map_or(Duration::ZERO, |looked| now.saturating_sub(looked));
        let passed = passed.min(MOST_BETWEEN);
        self.looked = Some(now);
        let there: BTreeSet<_> = beats.iter().map(|(sharer, _)| *sharer).collect();
        self.seen.retain(|sharer, _| there.contains(sharer));
        let mut dead = Vec::new();
        for (sharer, beat) in beats {
            let (last, rests) = self.seen.entry(*sharer).or_insert((*beat, Duration::ZERO));
            (*last, *rests) = if last == beat { (*beat, *rests + passed) } else { (*beat, Duration::ZERO) };
            if *rests >= DEAD_AFTER {
                dead.push((*sharer, *beat));
            }
        }
        dead
    }
}
