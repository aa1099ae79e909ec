//! Leases: when a worker sends a heartbeat, which others count as dead, and how long it may act itself; beside them the
//! seats at hosts, and the worker that each Source falls to. PURE.
//!
//! A worker increments its heartbeat in the shared record. A worker that sees the heartbeat of another one unchanged
//! for [`DEAD_AFTER`], by its own clock and while the record answered, removes that worker and frees its Sources in
//! one transaction. No two clocks are compared, and an outage of the record costs no worker its lease. A worker whose
//! last heartbeat is older than [`ACTS_FOR`] begins nothing, so it is idle before another worker can have its
//! Sources. If a worker is stopped between the two, the record rejects its writes, because its row no longer exists.
//!
//! A worker is therefore removed some seconds after it has lost the right to begin requests. A transfer that it began
//! before and that lasts longer may run beside those of the workers that got its seats.
//!
//! A process that begins with the folder of a killed one, as one that is started again does, removes the killed worker
//! at once: the lock of the folder shows that its process is gone, and its transfers with it.

mod lane;
mod lanes;
mod preference;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

pub(crate) use lane::{LaneAnswer, LaneRequest, LaneSeat, answer};
pub(crate) use lanes::{LaneDemand, LanePause, LaneStep, WorkerLanes};
pub(crate) use preference::{LEFT_FOR, falls_to};

/// The time between two heartbeats.
pub(crate) const BEAT: Duration = Duration::from_secs(5);

/// The time between two readings of the heartbeats of others.
pub(crate) const LOOK: Duration = Duration::from_secs(2);

/// The time without a heartbeat after which a worker counts as dead.
const DEAD_AFTER: Duration = Duration::from_secs(20);

/// The time after a heartbeat in which a worker begins requests and claims Sources.
const ACTS_FOR: Duration = Duration::from_secs(12);

/// The most that one pause between two answers counts as time in which the record answered: a worker that was
/// stopped, or had no record, cannot conclude that others sent no heartbeat.
const MOST_BETWEEN_ANSWERS: Duration = Duration::from_secs(4);

/// The number of a worker: no two ever have the same.
pub(crate) type WorkerId = i64;

/// The lease of a worker, and its observations of the others. Times are those of its own clock, from any start.
#[derive(Debug)]
pub(crate) struct LeaseState {
    me: WorkerId,
    /// The time at which the last confirmed heartbeat was sent.
    beaten: Duration,
    /// The time of the last attempt.
    tried: Duration,
    /// The time of the last look that was answered.
    looked: Option<Duration>,
    others: BTreeMap<WorkerId, WatchedBeat>,
}

/// The heartbeat of another worker.
#[derive(Clone, Copy, Debug)]
struct WatchedBeat {
    beat: i64,
    /// The time for which it has been the same.
    still: Duration,
}

impl LeaseState {
    /// Begins the lease of a worker whose registration, sent at a time, was confirmed.
    pub(crate) fn new(me: WorkerId, sent: Duration) -> Self {
        Self { me, beaten: sent, tried: sent, looked: None, others: BTreeMap::new() }
    }

    /// Returns the number of the worker.
    pub(crate) fn me(&self) -> WorkerId {
        self.me
    }

    /// Returns `true` if a heartbeat is due.
    pub(crate) fn is_to_beat(&self, now: Duration) -> bool {
        // After a failed heartbeat the next one is sent sooner.
        let pause = if self.tried > self.beaten { LOOK } else { BEAT };
        now.saturating_sub(self.tried) >= pause
    }

    /// Records that a heartbeat was sent, and if the record confirmed it.
    pub(crate) fn beat(&mut self, sent: Duration, is_confirmed: bool) {
        self.tried = sent;
        if is_confirmed {
            self.beaten = sent;
        }
    }

    /// Returns the time until which the worker begins requests and claims Sources. It counts from the sending of the
    /// heartbeat, because the record may have received it at once.
    pub(crate) fn acts_until(&self) -> Duration {
        self.beaten + ACTS_FOR
    }

    /// Returns `true` if a reading of the others' heartbeats is due.
    pub(crate) fn is_to_look(&self, now: Duration) -> bool {
        self.looked.is_none_or(|looked| now.saturating_sub(looked) >= LOOK)
    }

    /// Updates the heartbeats from the record, and returns the dead workers, each with its last heartbeat.
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
            *watched = if watched.beat == *beat {
                WatchedBeat { still: watched.still + passed, ..*watched }
            } else {
                new
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
