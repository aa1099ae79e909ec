//! The lease of this process: registers it as a worker, sends its heartbeat, and frees the Sources of dead workers.
//! `share` has the rules.

mod entering;

use std::{sync::Arc, time::Duration};

use rand::Rng as _;
use tokio::time::sleep;

use super::{Fleet, TICK, own_record::LeaseRecord, seconds, state::FleetState, worker_note::WorkerNote};
use crate::{
    FleetError,
    record::{FleetRecord, FleetWorker, ReadSources},
    share::{LeaseState, WorkerId},
};
use entering::{EnteredWorker, WorkerEntry};

/// The time between two checks of due work.
const STEP: Duration = Duration::from_millis(500);

/// Returns the name of this process among workers.
fn own_name() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("process {} on {host}", std::process::id())
}

impl Fleet {
    /// Sets the address of this worker's dashboard, for those of the others.
    pub fn serves_at(&self, url: &str) {
        self.0.lease.set_url(url);
    }

    /// Returns the workers that keep the fleet.
    pub fn workers(&self) -> Vec<FleetWorker> {
        self.state().workers().to_vec()
    }

    /// Returns `true` if other workers may keep the fleet too.
    pub fn is_shared(&self) -> bool {
        self.0.lease.record().is_some()
    }

    /// Returns the worker that the last process with this folder was, and the name of that process; `None` if they are
    /// not known, or the fleet is not shared. This process replaces the note when it registers.
    pub(super) fn former_worker(&self) -> Option<(WorkerId, String)> {
        if self.is_shared() { self.note().former() } else { None }
    }

    fn note(&self) -> WorkerNote {
        WorkerNote::in_folder(&self.state().options().dir)
    }

    /// Becomes the first worker of this process. Returns the name of the last process with this folder if its worker was
    /// still there, as after a kill.
    pub(super) async fn register_after_former(&self) -> Result<Option<String>, FleetError> {
        let former = self.former_worker();
        let was_there = self.register(former.as_ref().map(|(worker, _)| *worker)).await?;
        Ok(former.filter(|_| was_there).map(|(_, process)| process))
    }

    /// Becomes a worker of the fleet. If the record has the former worker of this folder, its Sources, seats and alerts are
    /// free at once, and this returns `true`.
    pub(super) async fn register(&self, former: Option<WorkerId>) -> Result<bool, FleetError> {
        let lease = &self.0.lease;
        let url = lease.url();
        // Positive and below 2^53, so that programs that read JSON numbers as floating-point numbers keep it exact.
        let id = rand::rng().random_range(1..1 << 53);
        let worker = FleetWorker { id, name: own_name(), url, began: seconds(), running: 0, beat: 0 };
        let (sent, is_shared) = (lease.now(), self.is_shared());
        let note = is_shared.then(|| self.note());
        let entry = WorkerEntry { worker, former, note, monitor: Arc::clone(&self.0.monitor) };
        let enter = move |record: &mut FleetRecord| entry.enter(record);
        let become_it = move |state: &mut FleetState, entered: EnteredWorker| {
            state.become_worker(id);
            state.set_workers(entered.workers);
            // These Sources were read as held by the killed process. The row changes that this process made are not
            // reported to it again, so it updates them here (P29).
            if let Some(sources) = entered.freed {
                state.load(ReadSources::all(sources));
            }
            entered.was_there
        };
        let was_there = self.applied(enter, become_it).await?;
        // Called before any request may begin, because the seats of the former worker are no longer this process's.
        if let Some(seat_requests) = lease.seat_requests() {
            seat_requests.begin(id);
        }
        lease.with_state(|state| *state = Some(LeaseState::new(id, sent)));
        if is_shared {
            lease.open_gate();
        }
        Ok(was_there)
    }

    /// Sends the heartbeat and frees the Sources of dead workers, for as long as it is polled.
    pub(super) async fn keep_lease(&self) {
        let Some(record) = self.0.lease.record() else { return };
        loop {
            sleep(STEP).await;
            if !self.beat(record).await {
                self.become_another().await;
            }
            self.look_at_others(record).await;
        }
    }

    /// Sends the heartbeat if it is due. Returns `false` if the record no longer has this worker.
    async fn beat(&self, record: &LeaseRecord) -> bool {
        let lease = &self.0.lease;
        let now = lease.now();
        let me = lease
            .with_state(|state| state.as_ref().filter(|state| state.is_to_beat(now)).map(LeaseState::me));
        let Some(me) = me else { return true };
        let running = self.state().running() as u64;
        let url = lease.url();
        let answer = record.work(move |record| record.beat(me, running, url.as_deref())).await;
        let is_there = !matches!(answer, Ok(false));
        let is_confirmed = matches!(answer, Ok(true));
        lease.with_state(|state| state.iter_mut().for_each(|state| state.beat(now, is_confirmed)));
        if is_confirmed {
            lease.open_gate();
        }
        is_there
    }

    /// Ends all looks and registers again, because other workers considered this one dead and removed it.
    async fn become_another(&self) {
        let what =
            "This worker's heartbeat was late, and others removed it: its runs end, and it starts again";
        self.0.monitor.note(what);
        self.0.lease.with_state(Option::take);
        self.state().end_all();
        while let Err(error) = self.register(None).await {
            self.complain(&error);
            sleep(TICK).await;
        }
    }

    async fn look_at_others(&self, record: &LeaseRecord) {
        let lease = &self.0.lease;
        let now = lease.now();
        if !lease.with_state(|state| state.as_ref().is_some_and(|state| state.is_to_look(now))) {
            return;
        }
        let Ok(workers) = record.work(FleetRecord::workers).await else { return };
        // Uses the time of the answer, so that a heartbeat during the wait counts as seen.
        let now = lease.now();
        let beats: Vec<_> = workers.iter().map(|worker| (worker.id, worker.beat)).collect();
        let dead =
            lease.with_state(|state| state.as_mut().map(|state| state.seen(now, &beats))).unwrap_or_default();
        for (id, beat) in dead {
            let removed = record.work(move |record| record.remove_worker(id, Some(beat))).await;
            if let (Ok(true), Some(worker)) = (removed, workers.iter().find(|worker| worker.id == id)) {
                self.0.monitor.note(&format!(
                    "Worker {} has stopped; its Sources are free for other workers",
                    worker.name
                ));
            }
        }
        self.state().set_workers(workers);
    }

    fn complain(&self, error: &FleetError) {
        let error = instep_store::error_chain(error);
        tracing::warn!(error, "the record of the fleet cannot be reached");
    }

    /// Removes this worker from the record, so that the others need not wait until it counts as dead.
    pub(super) async fn leave(&self) {
        let me = self.state().me();
        if let Err(error) = self.recorded(move |record| record.remove_worker(me, None)).await {
            self.complain(&error);
        }
    }
}
