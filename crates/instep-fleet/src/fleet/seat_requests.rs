//! Requests the seats of a worker. `share` has the rules, the client counts.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use instep_net::{Origin, SeatDemand, SharedSeats};
use rand::Rng as _;
use tokio::time::timeout;

use super::own_record::LeaseRecord;
use crate::{
    FleetError,
    record::SeenLanes,
    share::{LaneDemand, LanePause, LaneRequest, LaneStep, WorkerId, WorkerLanes},
};

/// The most lanes in one transaction. Other workers wait for a lane until the transaction ends.
const AT_ONCE: usize = 32;

/// Returns a number of transfers as the record has it.
pub(super) fn count(transfers: usize) -> u64 {
    transfers as u64
}

/// Returns a number of transfers as the client has it.
fn transfers(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// The seats of a worker, and its lanes in the record.
pub(super) struct SeatRequests {
    /// A separate record, since it may wait for other workers.
    record: LeaseRecord,
    seats: SharedSeats,
    lanes: Mutex<WorkerLanes<Origin>>,
}

impl SeatRequests {
    pub(super) fn new(record: LeaseRecord) -> Self {
        Self { record, seats: SharedSeats::new(), lanes: Mutex::new(WorkerLanes::new(0)) }
    }

    pub(super) fn seats(&self) -> &SharedSeats {
        &self.seats
    }

    /// Waits no longer for the server of the record, because the process is to end.
    pub(super) fn end_waits(&self) {
        self.record.end_waits();
    }

    /// Begins to ask as a worker that has no seat.
    pub(super) fn begin(&self, me: WorkerId) {
        self.lanes(|lanes| {
            *lanes = WorkerLanes::new(me);
            self.seats.revoke();
        });
    }

    fn lanes<T>(&self, act: impl FnOnce(&mut WorkerLanes<Origin>) -> T) -> T {
        act(&mut self.lanes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the seats that a lane keeps: no transfer beyond the granted ones begins.
    fn kept(&self, lanes: &WorkerLanes<Origin>, lane: &Origin) -> u64 {
        count(self.seats.grant(lane, transfers(lanes.granted(lane))))
    }

    /// Records the present needs of the transfers, and the pauses that hosts requested from them.
    fn note(&self, now: Duration, limit: u64) {
        let demands = self.seats.demands();
        let demand = |demand: &SeatDemand| {
            let SeatDemand { origin, wanted, kept, .. } = demand;
            (origin.clone(), LaneDemand { wanted: count(*wanted), kept: count(*kept) })
        };
        let wanted = demands.iter().map(demand).collect();
        self.lanes(|lanes| {
            lanes.note(now, limit, &wanted);
            let asked = demands.into_iter().filter_map(|demand| Some((demand.origin, demand.asked?)));
            for (lane, length) in asked {
                lanes.asked_to_pause(now, lane, LanePause { number: rand::rng().random(), length });
            }
        });
    }

    /// Reads the lanes of this worker if it is time: seats that belong to another worker are given up, pauses are
    /// kept.
    async fn look(&self, me: WorkerId, now: Duration) -> Result<(), FleetError> {
        if !self.lanes(|lanes| !lanes.is_empty() && lanes.is_to_look(now)) {
            return Ok(());
        }
        let SeenLanes { seats, pauses } = self.record.work(move |record| record.lanes_of(me)).await?;
        let lane = |name: String| Origin::parse(&name).ok();
        let seats: BTreeMap<_, _> =
            seats.into_iter().filter_map(|(name, rows)| Some((lane(name)?, rows))).collect();
        let unknown = self.lanes(|lanes| {
            if lanes.me() != me {
                return Vec::new();
            }
            for (lane, rows) in &seats {
                let others = rows.iter().filter(|row| row.worker != me).map(|row| row.held).sum();
                self.seats.note_others(lane, transfers(others));
            }
            let (fewer, unknown) = lanes.seen(now, &seats);
            for lane in &fewer {
                self.kept(lanes, lane);
            }
            for (lane, pause) in pauses.into_iter().filter_map(|(name, pause)| Some((lane(name)?, pause))) {
                self.pause(lanes, now, &lane, pause);
            }
            unknown
        });
        self.leave(me, &unknown).await
    }

    fn pause(&self, lanes: &mut WorkerLanes<Origin>, now: Duration, lane: &Origin, pause: LanePause) {
        if let Some(length) = lanes.note_pause(now, lane, pause) {
            self.seats.pause(lane, length);
        }
    }

    /// Lets no transfer begin in a lane. Returns `false` if one has begun since the lane was read.
    fn close(&self, me: WorkerId, lane: &Origin) -> bool {
        self.lanes(|lanes| {
            if lanes.me() != me {
                return false;
            }
            lanes.close(lane);
            let used = self.kept(lanes, lane);
            if used > 0 {
                lanes.stay(lane, used);
            }
            used == 0
        })
    }

    async fn leave(&self, me: WorkerId, left: &[Origin]) -> Result<(), FleetError> {
        if left.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = left.iter().map(Origin::to_string).collect();
        self.record.work(move |record| record.leave_lanes(me, &names)).await?;
        self.lanes(|lanes| {
            if lanes.me() == me {
                left.iter().for_each(|lane| lanes.left(lane));
            }
        });
        Ok(())
    }

    /// Requests seats. The kept ones are counted first, so that no transfer beyond them begins meanwhile.
    async fn ask(
        &self,
        me: WorkerId,
        limit: u64,
        now: Duration,
        asked: &[(Origin, u64)],
    ) -> Result<(), FleetError> {
        let requests: BTreeMap<_, _> = self.lanes(|lanes| {
            let request = |(lane, wanted): &(Origin, u64)| {
                let request = LaneRequest { kept: self.kept(lanes, lane), wanted: *wanted };
                (lane.to_string(), request)
            };
            if lanes.me() == me { asked.iter().map(request).collect() } else { BTreeMap::new() }
        });
        let names: Vec<_> = requests.keys().cloned().collect();
        let answers = self.record.work(move |record| record.ask_lanes(me, limit, &requests)).await;
        self.lanes(|lanes| {
            // An answer to a worker that this process was before grants nothing any more.
            if lanes.me() != me {
                return Ok(());
            }
            match answers {
                Ok(answers) => {
                    for (name, (answer, pause)) in names.iter().zip(answers.into_iter().flatten()) {
                        let Ok(lane) = Origin::parse(name) else { continue };
                        lanes.answered(&lane, answer);
                        self.kept(lanes, &lane);
                        self.seats.note_others(&lane, transfers(answer.others));
                        if let Some(pause) = pause {
                            self.pause(lanes, now, &lane, pause);
                        }
                    }
                    Ok(())
                }
                Err(error) => {
                    asked.iter().for_each(|(lane, _)| lanes.lost(lane));
                    Err(error)
                }
            }
        })
    }

    /// Does everything that is due.
    pub(super) async fn work(&self, me: WorkerId, limit: u64, now: Duration) -> Result<(), FleetError> {
        self.look(me, now).await?;
        self.note(now, limit);
        let (mut left, mut asked) = (Vec::new(), Vec::new());
        for step in self.lanes(|lanes| lanes.steps(now)) {
            match step {
                LaneStep::Ask(lane, wanted) => asked.push((lane, wanted)),
                LaneStep::Leave(lane) => left.push(lane),
                LaneStep::BeginPause(lane, pause) => {
                    let name = lane.to_string();
                    self.record.work(move |record| record.begin_pause(&name, pause)).await?;
                    self.lanes(|lanes| lanes.pause_passed_on(&lane, pause.number));
                }
                LaneStep::EndPause(lane, number) => {
                    let name = lane.to_string();
                    self.record.work(move |record| record.end_pause(&name, number)).await?;
                    self.lanes(|lanes| lanes.pause_ended(&lane, number));
                }
            }
        }
        left.retain(|lane| self.close(me, lane));
        self.leave(me, &left).await?;
        for asked in asked.chunks(AT_ONCE) {
            self.ask(me, limit, now, asked).await?;
        }
        Ok(())
    }

    /// Waits until something may be due, also without an event, because other workers may need seats.
    pub(super) async fn wait(&self) {
        let pause = self.lanes(|lanes| lanes.pause());
        let _ = timeout(pause, self.seats.news()).await;
    }

    /// Removes empty lanes.
    pub(super) async fn sweep(&self) -> Result<(), FleetError> {
        self.record.work(|record| record.forget_lanes()).await
    }
}
