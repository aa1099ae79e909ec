//! Looks: begun when this worker holds the Source, recorded when they have ended.

use instep_destination::Shutdown;
use tokio::{runtime::Handle, task::spawn_blocking, time::Interval};

use super::{
    Fleet,
    look::{LookOutcome, LookTask, look},
    seconds,
    state::{AfterClaim, FleetState},
    stepping::StepEnd,
    watching::{self, SourceWatch},
};
use crate::{
    FleetError,
    name::SourceName,
    record::{FleetRecord, LookEnding},
    standing::FleetSource,
};

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
        self.write_down_unwritten().await?;
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
                Ok(AfterClaim::Look(task)) => self.begin(*task),
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
    fn begin(&self, task: LookTask) {
        let definition = task.definition.clone();
        let name = definition.name.clone();
        let (monitor, hold) = (self.0.monitor.begins(&name, &task.copy.dir), task.hold);
        self.news();
        let runtime = Handle::current();
        let look = spawn_blocking(move || runtime.block_on(look(task, &*monitor)));
        let fleet = self.clone();
        tokio::spawn(async move {
            let outcome = look.await.unwrap_or_else(|error| LookOutcome::broken(&error));
            let news = fleet.state().outage_news(&outcome);
            if let Some(news) = news {
                fleet.0.monitor.note(&news);
            }
            let ending = fleet.state().conclude(&definition, hold, &outcome, seconds());
            match ending {
                // The loop, which this wakes, tries again what failed, and says so.
                Some(ending) => {
                    if fleet.write_down(ending).await.is_err() {
                        fleet.news();
                    }
                }
                None => {
                    fleet.state().ended(&name, None);
                    fleet.announce_end(&name, None);
                }
            }
        });
    }

    /// Tells the monitor that a look has ended, and listens to its Source. `source` is the Source as it is then; `None` if this
    /// worker no longer holds it: its new holder finds the commits of the look.
    fn announce_end(&self, name: &SourceName, source: Option<FleetSource>) {
        self.0.monitor.ended(name, source.as_ref());
        if let Some(source) = source {
            self.state().push_again(name, seconds());
            self.watch(&source);
        }
        self.news();
    }

    /// Records the result of a look and ends it. Until that succeeds, the look counts as one in progress.
    ///
    /// Errors: the record cannot be written now. The result is kept for [`Self::write_down_unwritten`].
    async fn write_down(&self, ending: LookEnding) -> Result<(), FleetError> {
        let (written, of) = (ending.clone(), ending.name.clone());
        let end = move |state: &mut FleetState, source: Option<FleetSource>| {
            state.ended(&of, source.clone());
            source
        };
        match self.applied(move |record| record.finish(&written), end).await {
            Ok(source) => self.announce_end(&ending.name, source),
            Err(error) if error.may_pass() => {
                self.state().leave_unwritten(ending);
                return Err(error);
            }
            Err(error) => self.give_up(&ending, &error),
        }
        Ok(())
    }

    /// Records the results of looks that could not be recorded before.
    pub(super) async fn write_down_unwritten(&self) -> Result<(), FleetError> {
        let unwritten = self.state().take_unwritten();
        let mut unwritten = unwritten.into_iter();
        while let Some(ending) = unwritten.next() {
            if let Err(error) = self.write_down(ending).await {
                self.state().put_back_unwritten(unwritten);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Tries once more to record the results of looks, and gives up those that cannot be: a process that is to end does not wait
    /// for the record. Their Sources are free once others see that its heartbeat has stopped.
    pub(super) async fn end_unwritten(&self) {
        let Err(error) = self.write_down_unwritten().await else { return };
        let unwritten = self.state().take_unwritten();
        unwritten.iter().for_each(|ending| self.give_up(ending, &error));
    }

    /// Ends a look without a record of its result.
    fn give_up(&self, ending: &LookEnding, error: &FleetError) {
        let (name, what) = (&ending.name, instep_store::error_chain(error));
        self.0.monitor.note(&format!("The end of a look at {name} is not recorded: {what}"));
        let mut state = self.state();
        state.leave_unrecorded(name.clone(), ending.hold);
        state.ended(name, None);
        drop(state);
        self.announce_end(name, None);
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
        let task = tokio::spawn(watching::watch(options, folder, state.callbacks(), ending.clone(), news));
        state.watched(SourceWatch { definition: source.definition.clone(), ending, task });
    }
}
