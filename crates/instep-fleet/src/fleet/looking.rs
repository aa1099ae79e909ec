//! Looks: begun when this worker holds the Source, recorded when they have ended.

use instep_destination::Shutdown;
use tokio::{
    runtime::Handle,
    task::spawn_blocking,
    time::{Interval, sleep},
};

use super::{
    Fleet, TICK,
    look::{LookOutcome, LookTask, look},
    seconds,
    state::{AfterClaim, FleetState},
    stepping::StepEnd,
    watching::{self, SourceWatch},
};
use crate::{
    FleetError,
    record::{FleetRecord, LookEnding},
    standing::FleetSource,
};

/// The most attempts to write down how a look ended. Together they last longer than any failover.
const MOST_ATTEMPTS: u32 = 120;

impl Fleet {
    /// Begins looks, and waits until something may have to begin, or a second is over.
    pub(super) async fn step(
        &self,
        ticks: &mut Interval,
        shutdown: &Shutdown,
    ) -> Result<StepEnd, FleetError> {
        self.begin_looks(shutdown).await?;
        let end = tokio::select! {
            () = shutdown.requested() => return Ok(StepEnd::Shutdown),
            () = self.0.wake.notified() => StepEnd::Woken,
            _ = ticks.tick() => {
                self.tick().await?;
                StepEnd::Read
            }
        };
        self.record_announced().await?;
        Ok(end)
    }

    /// Records that Sources have announced something, so that other workers know it, and a later process. What cannot be
    /// recorded is tried again by the next step. Only the loop does this: if each announcement wrote for itself, those made while
    /// the database is away would wait for it one after the other, and all else behind them.
    pub(super) async fn record_announced(&self) -> Result<(), FleetError> {
        let announced = self.state().announced();
        for (name, due) in announced {
            let of = name.clone();
            let hasten = move |record: &mut FleetRecord| record.hasten(&of, due);
            let forget = move |state: &mut FleetState, ()| state.forget_announced(&name, due);
            self.applied(hasten, forget).await?;
        }
        Ok(())
    }

    /// Begins looks at the next Sources, as long as there are free slots.
    pub(super) async fn begin_looks(&self, shutdown: &Shutdown) -> Result<(), FleetError> {
        while !shutdown.is_requested() && self.0.lease.acts() {
            let next = self.state().next(seconds());
            self.note_held_back();
            let Some(next) = next else { return Ok(()) };
            let (me, most) = {
                let state = self.state();
                (state.me(), state.options().runs_per_host.max(1))
            };
            let (name, epoch, host) = (next.name.clone(), next.epoch, next.host.clone());
            let claim =
                move |record: &mut FleetRecord| record.claim(me, (&name, epoch), (&host, most), seconds());
            let (of, until) = (next.name.clone(), shutdown.clone());
            let claimed = move |state: &mut FleetState, claim| state.claimed(next, claim, &until);
            match self.applied(claim, claimed).await {
                Ok(AfterClaim::Look(task)) => self.begin(*task, shutdown),
                Ok(AfterClaim::Gone) => self.news(),
                Ok(AfterClaim::Other) => {}
                Ok(AfterClaim::Removed) => return Ok(()),
                Err(error) => {
                    self.state().put_back(&of, None);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Notes once that no look begins because of the disk, and that they begin again: nothing else would show it.
    fn note_held_back(&self) {
        let Some(held_back) = self.state().held_back_news() else { return };
        self.0.monitor.note(&match held_back {
            Some(reason) => format!("No run begins: {reason}"),
            None => "Runs begin again".to_owned(),
        });
    }

    /// Begins a look on its own thread: a run reads and writes the state of its copy, which would block requests of
    /// other looks. A fault in the program is a failure of that look only.
    fn begin(&self, task: LookTask, shutdown: &Shutdown) {
        let definition = task.definition.clone();
        let name = definition.name.clone();
        let (monitor, hold) = (self.0.monitor.begins(&name, &task.copy.dir), task.hold);
        self.news();
        let runtime = Handle::current();
        let look = spawn_blocking(move || runtime.block_on(look(task, &*monitor)));
        let (fleet, shutdown) = (self.clone(), shutdown.clone());
        tokio::spawn(async move {
            let outcome = look.await.unwrap_or_else(|error| LookOutcome::broken(&error));
            let news = fleet.state().outage_news(&outcome);
            if let Some(news) = news {
                fleet.0.monitor.note(&news);
            }
            let ending = fleet.state().conclude(&definition, (hold, &outcome), seconds());
            let source = match ending {
                Some(ending) => fleet.write_down(ending, &shutdown).await,
                None => {
                    fleet.state().ended(&name, None);
                    None
                }
            };
            fleet.0.monitor.ended(&name, source.as_ref());
            if let Some(source) = source {
                fleet.watch(&source);
            }
            fleet.news();
        });
    }

    /// Records the result of a look and ends it, and repeats this as long as the record is unavailable. `None` if this worker no
    /// longer holds the Source: its new holder finds the commits of the look. A process that is to end does not wait for the
    /// record: the Source is free once others see that its heartbeat has stopped.
    async fn write_down(&self, ending: LookEnding, shutdown: &Shutdown) -> Option<FleetSource> {
        let name = ending.name.clone();
        let mut attempts = 0;
        loop {
            let (written, of) = (ending.clone(), name.clone());
            let end = move |state: &mut FleetState, source: Option<FleetSource>| {
                state.ended(&of, source.clone());
                source
            };
            let error = match self.applied(move |record| record.finish(&written), end).await {
                Ok(source) => return source,
                Err(error) => error,
            };
            attempts += 1;
            if !error.may_pass() || attempts == MOST_ATTEMPTS || shutdown.is_requested() {
                let what = instep_store::error_chain(&error);
                self.0.monitor.note(&format!("The end of a look at {name} is not recorded: {what}"));
                let mut state = self.state();
                state.leave_unrecorded(name.clone(), ending.hold);
                state.ended(&name, None);
                return None;
            }
            sleep(TICK).await;
        }
    }

    /// Gives back the Sources whose looks ended while the record could not be written: otherwise this worker would hold
    /// them, and nobody would look at them, until it ends.
    pub(super) async fn free_unrecorded(&self) {
        let unrecorded = self.state().take_unrecorded();
        for (name, hold) in unrecorded {
            let of = name.clone();
            let free = move |record: &mut FleetRecord| {
                record.give_back(&of, hold)?;
                record.source(&of)
            };
            match self.applied(free, FleetState::take).await {
                Ok(()) => self.news(),
                Err(FleetError::Unknown { .. }) => {}
                Err(_) => self.state().leave_unrecorded(name, hold),
            }
        }
    }

    /// Ends all watches. Each takes a few seconds at most, and all end at the same time.
    pub(super) async fn end_watches(&self) {
        let watches = self.state().end_watches();
        for watch in watches {
            let _ = watch.await;
        }
    }

    /// Listens to the channels of followed Sources that nobody listens to.
    pub(super) fn watch_unwatched(&self) {
        let unwatched = self.state().unwatched(seconds());
        unwatched.iter().for_each(|source| self.watch(source));
    }

    /// Listens to the channels of a Source that is followed, once it was in step.
    pub(super) fn watch(&self, source: &FleetSource) {
        let mut state = self.state();
        let Some(options) = state.to_watch(source) else { return };
        let (fleet, name) = (self.clone(), source.definition.name.clone());
        let news = move || {
            // The loop, which this wakes, records it.
            if fleet.state().push(&name, seconds()).is_some() {
                fleet.news();
            }
        };
        let folder = FleetRecord::own_folder(&state.options().dir);
        let ending = Shutdown::new();
        let task = tokio::spawn(watching::watch((options, folder), state.callbacks(), ending.clone(), news));
        state.watched(SourceWatch { definition: source.definition.clone(), ending, task });
    }
}
