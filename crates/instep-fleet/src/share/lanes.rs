//! The lanes of a worker: when it requests seats, returns some, and reads the needs of others. PURE.
//!
//! A lane is requested once a transfer waits for a seat. After that the worker only reads the rows of all workers in
//! its lanes, together and without a lock. It requests again when the rows show that it may have more, that it must
//! return seats, or that an answer was lost. It leaves a lane that was not used for a while.
//!
//! The part of the seats in use that a worker has is also its part of the rate of requests to the host, and of a pause
//! that the host asks for between them.

mod pauses;

use std::{collections::BTreeMap, time::Duration};

use super::{
    WorkerId,
    lane::{LaneAnswer, LaneRequest, LaneSeat, answer},
};

/// The time between two readings of lanes.
const LOOK_AT_LANES: Duration = Duration::from_secs(1);

/// The time between two readings while a transfer waits in a lane in which this worker has no seat.
const LOOK_WITHOUT_SEAT: Duration = Duration::from_millis(250);

/// The time after which unused seats are returned: longer than the pauses between the requests of a look, and short
/// compared with the waits of others.
const UNUSED: Duration = Duration::from_secs(2);

/// Seats are requested in multiples of this number. A small Source soon needs as many, and each request costs the server
/// as much as the rows of the Source.
const TOGETHER: u64 = 8;

/// The seats in a lane that the transfers of a worker have use for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaneDemand {
    /// The largest number in use or waiting at a time since the last report.
    pub(crate) wanted: u64,
    /// The seats that are granted, and those in use beyond them.
    pub(crate) kept: u64,
}

/// A step that the rows need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LaneStep<K> {
    /// Request this number of seats in the lane.
    Ask(K, u64),
    /// Remove the row of the worker: it has no transfers to the host any more.
    Leave(K),
    /// Pass on a pause that the host requested from this worker: what is left of it.
    BeginPause(K, LanePause),
    /// Remove the pause with this number, which is over by the worker's clock.
    EndPause(K, i64),
}

/// A pause that a host requested, with a unique number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LanePause {
    pub(crate) number: i64,
    pub(crate) length: Duration,
}

/// The lanes in which a worker has a row, or is about to have one. Times are those of its own clock.
#[derive(Debug)]
pub(crate) struct WorkerLanes<K> {
    me: WorkerId,
    limit: u64,
    lanes: BTreeMap<K, KeptLane>,
    looked: Duration,
}

/// A lane of the worker.
#[derive(Clone, Copy, Debug)]
struct KeptLane {
    /// Seats of its row, by the last answer; `None` if it has none, or an answer was lost.
    held: Option<u64>,
    /// The number of wanted seats in the row.
    requested: u64,
    granted: u64,
    kept: u64,
    /// The most that was wanted in this stretch of time and in the one before.
    wanted: [u64; 2],
    stretch: Duration,
    /// The rows show that another answer is available.
    is_stale: bool,
    pause: Option<KnownPause>,
}

/// The last known pause of a host.
#[derive(Clone, Copy, Debug)]
struct KnownPause {
    number: i64,
    until: Duration,
    /// `true` if the others can read it.
    is_passed_on: bool,
}

impl KnownPause {
    /// Returns the step that the pause needs now.
    fn step<K: Clone>(self, lane: &K, now: Duration) -> Option<LaneStep<K>> {
        let Self { number, until, is_passed_on } = self;
        if until <= now {
            return Some(LaneStep::EndPause(lane.clone(), number));
        }
        let pause = LanePause { number, length: until - now };
        (!is_passed_on).then(|| LaneStep::BeginPause(lane.clone(), pause))
    }
}

impl KeptLane {
    fn new(now: Duration) -> Self {
        Self {
            held: None,
            requested: 0,
            granted: 0,
            kept: 0,
            wanted: [0; 2],
            stretch: now,
            is_stale: false,
            pause: None,
        }
    }

    fn wanted(&self) -> u64 {
        self.wanted[0].max(self.wanted[1])
    }

    fn note(&mut self, now: Duration, demand: LaneDemand) {
        if now.saturating_sub(self.stretch) >= UNUSED {
            (self.stretch, self.wanted) = (now, [0, self.wanted[0]]);
        }
        self.wanted[0] = self.wanted[0].max(demand.wanted.next_multiple_of(TOGETHER));
        self.kept = demand.kept;
    }

    fn is_to_ask(&self, limit: u64) -> bool {
        let Some(held) = self.held else { return true };
        let wants_more = self.wanted().min(limit) > self.requested;
        // Seats that belong to another worker but were in use until now.
        self.is_stale || wants_more || held > self.granted.max(self.kept)
    }
}

impl<K: Ord + Clone> WorkerLanes<K> {
    /// Begins the lanes of a worker.
    pub(crate) fn new(me: WorkerId) -> Self {
        Self { me, limit: 1, lanes: BTreeMap::new(), looked: Duration::ZERO }
    }

    pub(crate) fn me(&self) -> WorkerId {
        self.me
    }

    /// Records the present needs of the transfers, at hosts with a limit of `limit` of them.
    pub(crate) fn note(&mut self, now: Duration, limit: u64, demands: &BTreeMap<K, LaneDemand>) {
        if self.limit != limit {
            self.lanes.values_mut().for_each(|lane| lane.is_stale = true);
            self.limit = limit;
        }
        for (lane, demand) in demands.iter().filter(|(_, demand)| demand.wanted > 0) {
            self.lanes.entry(lane.clone()).or_insert_with(|| KeptLane::new(now)).note(now, *demand);
        }
        for (lane, kept) in &mut self.lanes {
            let demand = demands.get(lane).copied().unwrap_or_default();
            if demand.wanted == 0 {
                kept.note(now, demand);
            }
        }
    }

    /// Returns the next steps.
    pub(crate) fn steps(&self, now: Duration) -> Vec<LaneStep<K>> {
        let mut steps = Vec::new();
        for (lane, kept) in &self.lanes {
            steps.extend(kept.pause.and_then(|pause| pause.step(lane, now)));
            // The row stays during the pause of the host, because it records the end of the pause.
            if kept.wanted() == 0 && kept.pause.is_none() {
                steps.push(LaneStep::Leave(lane.clone()));
            } else if kept.is_to_ask(self.limit) {
                steps.push(LaneStep::Ask(lane.clone(), kept.wanted().min(self.limit)));
            }
        }
        steps
    }

    /// Returns the seats that may be used in a lane now.
    pub(crate) fn granted(&self, lane: &K) -> u64 {
        self.lanes.get(lane).map_or(0, |kept| kept.granted)
    }

    /// Takes an answer. Returns the seats that may be used.
    pub(crate) fn answered(&mut self, lane: &K, answer: LaneAnswer) -> u64 {
        let Some(kept) = self.lanes.get_mut(lane) else { return 0 };
        (kept.held, kept.requested, kept.is_stale) = (Some(answer.seat.held), answer.seat.wanted, false);
        kept.granted = answer.granted;
        kept.granted
    }

    /// Records that a request for a lane may or may not have been carried out: it is repeated.
    pub(crate) fn lost(&mut self, lane: &K) {
        if let Some(kept) = self.lanes.get_mut(lane) {
            kept.held = None;
        }
    }

    /// Lets no transfer begin in a lane that the worker is about to leave.
    pub(crate) fn close(&mut self, lane: &K) {
        if let Some(kept) = self.lanes.get_mut(lane) {
            kept.granted = 0;
        }
    }

    /// Stays in a lane that was closed, because seats are in use: a transfer began before that.
    pub(crate) fn stay(&mut self, lane: &K, used: u64) {
        if let Some(kept) = self.lanes.get_mut(lane) {
            (kept.kept, kept.wanted[0], kept.is_stale) = (used, kept.wanted[0].max(used), true);
        }
    }

    /// Notes that the worker has left a lane.
    pub(crate) fn left(&mut self, lane: &K) {
        self.lanes.remove(lane);
    }

    /// Returns `true` if a reading of the rows is due.
    pub(crate) fn is_to_look(&self, now: Duration) -> bool {
        now.saturating_sub(self.looked) >= self.pause()
    }

    /// Returns the pause between two readings.
    pub(crate) fn pause(&self) -> Duration {
        let is_waiting = self.lanes.values().any(|kept| kept.held == Some(0) && kept.wanted[0] > 0);
        if is_waiting { LOOK_WITHOUT_SEAT } else { LOOK_AT_LANES }
    }

    /// Returns `true` if the worker is in no lane.
    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Takes the rows of its lanes, as they are now. Returns the lanes in which it may use fewer seats than before, and those
    /// in which it has a row and wants nothing: the answer to its request was lost.
    pub(crate) fn seen(&mut self, now: Duration, rows: &BTreeMap<K, Vec<LaneSeat>>) -> (Vec<K>, Vec<K>) {
        self.looked = now;
        let unknown = rows.keys().filter(|lane| !self.lanes.contains_key(*lane)).cloned().collect();
        let mut fewer = Vec::new();
        for (lane, kept) in &mut self.lanes {
            let rows = rows.get(lane).map_or(&[][..], Vec::as_slice);
            let own = rows.iter().find(|row| row.worker == self.me);
            if own.map(|row| row.held) != kept.held {
                kept.held = None;
            }
            if rows.iter().all(|row| row.worker == self.me) {
                // The others have left or were removed since the last answer: all seats are free.
                kept.is_stale |= kept.granted < kept.wanted().min(self.limit);
                continue;
            }
            let request = LaneRequest { kept: kept.granted.max(kept.kept), wanted: kept.wanted() };
            let answer = answer(self.me, self.limit, request, rows);
            if answer.granted < kept.granted {
                kept.granted = answer.granted;
                fewer.push(lane.clone());
            }
            // More is available, or less is wanted than the row shows.
            kept.is_stale |= answer.granted > kept.granted || answer.seat.wanted != kept.requested;
        }
        (fewer, unknown)
    }
}
