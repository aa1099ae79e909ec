//! Leases: when a worker beats, which others it takes for dead, and how long it may act itself. PURE.
//!
//! A worker counts its beat up in the record that all share. Whoever sees the beat of another one unchanged for
//! [`DEAD_AFTER`], by its own clock and while the record answered, removes that worker and frees its Sources in one
//! transaction. So no two clocks are compared, and an outage of the record makes nobody lose anything. A worker whose last
//! beat is older than [`ACTS_FOR`] begins nothing: by the time that its Sources can be those of another one, it is at rest.
//! One that was stopped between the two is kept out by the record, which takes nothing from a worker that is not there.

mod lane;
mod lanes;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

pub(crate) use lane::{LaneAnswer, LaneRequest, LaneSeat, answer};
pub(crate) use lanes::{LaneDemand, LaneKeeper, LaneRest, LaneStep};

/// The time between two beats.
pub(crate) const BEAT: Duration = Duration::from_secs(5);

/// The time between two looks at the beats of others.
pub(crate) const LOOK: Duration = Duration::from_secs(2);

/// The time without a beat after which a worker counts as dead.
const DEAD_AFTER: Duration = Duration::from_secs(20);

/// The time after a beat in which a worker begins requests and claims Sources.
const ACTS_FOR: Duration = Duration::from_secs(12);

/// The most that one pause between two answers counts as time in which the record answered: whoever was stopped, or found
/// no record, has not seen that others did not beat.
const MOST_BETWEEN_ANSWERS: Duration = Duration::from_secs(4);

/// The number of a worker: no two ever have the same.
pub(crate) type WorkerId = i64;

/// The lease of a worker, and what it has seen of the others. Times are those of its own clock, from any beginning.
#[derive(Debug)]
pub(crate) struct Keeper {
    me: WorkerId,
    /// The time at which the last beat that was confirmed had been sent.
    beaten: Duration,
    /// The time of the last attempt.
    tried: Duration,
    /// The time of the last look that was answered.
    looked: Option<Duration>,
    others: BTreeMap<WorkerId, WatchedBeat>,
}

/// The beat of another worker.
#[derive(Clone, Copy, Debug)]
struct WatchedBeat {
    beat: i64,
    /// The time for which it has been the same.
    still: Duration,
}

impl Keeper {
    /// Begins the lease of a worker whose registration, sent at a time, was confirmed.
    pub(crate) fn new(me: WorkerId, sent: Duration) -> Self {
        Self { me, beaten: sent, tried: sent, looked: None, others: BTreeMap::new() }
    }

    /// Returns the number of the worker.
    pub(crate) fn me(&self) -> WorkerId {
        self.me
    }

    /// Returns `true` if a beat is due.
    pub(crate) fn is_to_beat(&self, now: Duration) -> bool {
        // After a beat that failed the next one does not wait as long.
        let pause = if self.tried > self.beaten { LOOK } else { BEAT };
        now.saturating_sub(self.tried) >= pause
    }

    /// Notes that a beat was sent, and whether the record confirmed it.
    pub(crate) fn beat(&mut self, sent: Duration, is_confirmed: bool) {
        self.tried = sent;
        if is_confirmed {
            self.beaten = sent;
        }
    }

    /// Returns the time until which the worker begins requests and claims Sources. Counted from when the beat was sent: the
    /// record may have taken it at once.
    pub(crate) fn acts_until(&self) -> Duration {
        self.beaten + ACTS_FOR
    }

    /// Returns `true` if a look at the others is due.
    pub(crate) fn is_to_look(&self, now: Duration) -> bool {
        self.looked.is_none_or(|looked| now.saturating_sub(looked) >= LOOK)
    }

    /// Takes the beats that the record has, and returns the workers that are dead, each with its last beat.
    pub(crate) fn seen(&mut self, now: Duration, beats: &[(WorkerId, i64)]) -> Vec<(WorkerId, i64)> {
        let passed = self.looked.map_or(Duration::ZERO, |looked| now.saturating_sub(looked));
        let passed = passed.min(MOST_BETWEEN_ANSWERS);
        self.looked = Some(now);
        let there: BTreeSet<_> = beats.iter().map(|(worker, _)| *worker).collect();
        self.others.retain(|worker, _| there.contains(worker));
        let mut dead = Vec::new();
        for (worker, beat) in beats.iter().filter(|(worker, _)| *worker != self.me) {
            let new = WatchedBeat { beat: *beat, still: Duration::ZERO };
            let watched = self.others.entry(*worker).or_insert(new);
            *watched = match watched.beat == *beat {
                true => WatchedBeat { still: watched.still + passed, ..*watched },
                false => new,
            };
            if watched.still >= DEAD_AFTER {
                dead.push((*worker, *beat));
            }
        }
        dead
    }
}

#[cfg(test)]
mod tests;
