//! The process that keeps a fleet current: takes the next Source from the queue, runs it, and records the result.
//!
//! One task makes the decisions, and each look is a separate task. Every decision is recorded before it is carried
//! out, so that a killed process can continue, and several processes can keep one fleet.

mod alerting;
mod beside;
mod figures;
mod heartbeat;
#[cfg(feature = "postgres")]
mod helping;
mod lease;
mod look;
mod looking;
mod opening;
mod operating;
mod own_record;
mod readers;
mod reading;
mod seat_requests;
mod seating;
mod state;
mod stepping;
mod watching;
mod worker_note;

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use instep_destination::{Monitor, SharedCallbacks, Shutdown, Traffic};
use tokio::{
    sync::{Notify, watch},
    task::spawn_blocking,
    time::sleep,
};

use crate::{
    FleetError,
    definition::SourceDefinition,
    name::SourceName,
    options::FleetOptions,
    record::{FleetRecord, ReadSources},
    standing::FleetSource,
};
pub use figures::FleetFigures;
use lease::WorkerLease;
use opening::{LockedFolder, check, configure, seconds};
use readers::RecordReaders;
use state::FleetState;
use stepping::{RecordOutage, StepEnd};

/// The interval for reading the record, which commands write, and the clock: the schedule counts in seconds.
const TICK: Duration = Duration::from_secs(1);

/// Receives the events of a fleet.
pub trait FleetMonitor: Send + Sync {
    /// Called when a look at a Source begins, with the folder of its copy. The returned monitor receives the events of the
    /// run.
    fn begins(&self, name: &SourceName, copy: &Path) -> Arc<dyn Monitor>;

    /// Called when a look at a Source has ended. `source` has the result; `None` if the Source was removed meanwhile, or
    /// another worker has it.
    fn ended(&self, name: &SourceName, source: Option<&FleetSource>);

    /// Called with the figures of the requests to a host since the last call about it.
    fn traffic(&self, host: &str, traffic: &Traffic);

    /// Called with a sentence for the operator.
    fn note(&self, text: &str);
}

/// A fleet that this process keeps current. Clones refer to the same fleet.
#[derive(Clone)]
pub struct Fleet(Arc<SharedFleet>);

struct SharedFleet {
    state: Mutex<FleetState>,
    record: Arc<Mutex<FleetRecord>>,
    readers: RecordReaders,
    lease: WorkerLease,
    /// Something may have to begin.
    wake: Notify,
    /// A number that grows with each change.
    changed: watch::Sender<u64>,
    monitor: Arc<dyn FleetMonitor>,
    folder: Arc<LockedFolder>,
}

impl Fleet {
    /// Opens the fleet in a folder; creates it if there is none.
    ///
    /// # Errors
    /// If another process keeps it, the record cannot be opened, an option is invalid, or a Source of the
    /// configuration file conflicts with one that an operator added.
    pub fn open(
        options: FleetOptions,
        configured: &[SourceDefinition],
        monitor: Arc<dyn FleetMonitor>,
    ) -> Result<Self, FleetError> {
        check(&options, configured)?;
        let mut record = FleetRecord::open(&options.place())?;
        FleetRecord::make_folder(&options.dir)?;
        let folder = Arc::new(LockedFolder::take(&options.dir)?);
        configure(&mut record, configured)?;
        // Checked for all Sources, also those that commands have added: this worker would claim them, and each run would
        // fail.
        for source in record.sources()? {
            source.definition.expect_shared(&options)?;
        }
        let lease = WorkerLease::new(&options, &record)?;
        let mut state = FleetState::new(options, lease.gate().clone(), lease.seats().cloned())?;
        state.load(record.read_again()?);
        Ok(Self(Arc::new(SharedFleet {
            state: Mutex::new(state),
            record: Arc::new(Mutex::new(record)),
            readers: RecordReaders::default(),
            lease,
            wake: Notify::new(),
            changed: watch::Sender::new(0),
            monitor,
            folder,
        })))
    }

    /// Lets hubs announce changes of followed Sources at a server, during the next [`Self::run`].
    pub fn deliver_at(&self, callbacks: SharedCallbacks) {
        self.state().deliver_at(Some(callbacks));
    }

    /// Runs each Source when it is due, until `shutdown`. Looks in progress then commit the resources that have
    /// arrived.
    ///
    /// # Errors
    /// If the record cannot be read or written.
    pub async fn run(&self, shutdown: Shutdown) -> Result<(), FleetError> {
        #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "it has shared nothing"))]
        let killed = self.register_after_former().await?;
        self.state().begin_watches();
        let shutdown = shutdown.child();
        let beside = self.begin_beside(&shutdown);
        #[cfg(feature = "postgres")]
        let help = self.begin_to_help(&shutdown, killed);
        let result = self.look_until(&shutdown).await;
        // After an error, unlike after a shutdown, nothing else ends the looks.
        self.state().end_all();
        while self.state().running() > 0 {
            self.end_unwritten().await;
            tokio::select! {
                () = self.0.wake.notified() => {}
                () = sleep(TICK) => {}
            }
        }
        #[cfg(feature = "postgres")]
        help.end().await;
        self.end_watches().await;
        self.state().deliver_at(None);
        // Alerts that were not sent stay in the record, and the next process sends them.
        let fault = beside.end().await;
        self.leave().await;
        if let Some(fault) = fault {
            std::panic::resume_unwind(fault);
        }
        result
    }

    async fn look_until(&self, shutdown: &Shutdown) -> Result<(), FleetError> {
        let mut ticks = tokio::time::interval(TICK);
        let mut outage = RecordOutage::default();
        loop {
            let step = self.step(&mut ticks, shutdown).await;
            if let Some(news) = outage.news(&step) {
                self.state().set_record_fault(outage.fault().map(str::to_owned));
                self.0.changed.send_modify(|number| *number += 1);
                self.0.monitor.note(&news);
            }
            match step {
                Ok(StepEnd::Shutdown) => return Ok(()),
                Ok(StepEnd::Woken | StepEnd::Read) => {}
                Err(error) if error.may_pass() => {
                    tokio::select! {
                        () = shutdown.requested() => return Ok(()),
                        () = sleep(TICK) => {}
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads or writes the record on a blocking thread, because the record may make it wait.
    async fn recorded<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut FleetRecord) -> Result<T, FleetError> + Send + 'static,
    ) -> Result<T, FleetError> {
        let (folder, record) = (Arc::clone(&self.0.folder), Arc::clone(&self.0.record));
        let done = spawn_blocking(move || {
            folder.check()?;
            work(&mut record.lock().unwrap_or_else(PoisonError::into_inner))
        });
        done.await.unwrap_or_else(|fault| std::panic::resume_unwind(fault.into_panic()))
    }

    /// Reads or writes the record, and applies what came of it before anyone else can use the record. Applied later, an
    /// older listing could undo what was added, removed or claimed since; and a caller that goes away, as a client of the
    /// API may, would leave the record and this process apart.
    async fn applied<T: 'static, U: Send + 'static>(
        &self,
        work: impl FnOnce(&mut FleetRecord) -> Result<T, FleetError> + Send + 'static,
        apply: impl FnOnce(&mut FleetState, T) -> U + Send + 'static,
    ) -> Result<U, FleetError> {
        let fleet = self.clone();
        self.recorded(move |record| {
            let done = work(record)?;
            let mut state = fleet.state();
            Ok(apply(&mut state, done))
        })
        .await
    }

    /// Returns `true` if options name the place that the fleet has: its folder, its database and its object storage.
    pub fn is_at(&self, options: &FleetOptions) -> bool {
        self.state().options().is_at(options)
    }

    /// Applies new options and a new configuration. Looks in progress finish with their former options, and the fleet stays
    /// in its place.
    ///
    /// # Errors
    /// As for [`Self::open`]; everything then stays as it was.
    pub async fn reload(
        &self,
        mut options: FleetOptions,
        configured: &[SourceDefinition],
    ) -> Result<(), FleetError> {
        options.stay_at(self.state().options());
        // The client is made before anything is recorded, so that options that cannot be used change nothing.
        let client = self.state().client_for(&options)?;
        let configured = configured.to_vec();
        let checked = options.clone();
        let change = move |record: &mut FleetRecord| {
            check(&checked, &configured)?;
            configure(record, &configured)?;
            record.sources_after_change()
        };
        let reload = move |state: &mut FleetState, sources| {
            state.reload(options, client);
            state.load(ReadSources::all(sources));
        };
        self.applied(change, reload).await?;
        self.news();
        Ok(())
    }

    async fn tick(&self) -> Result<(), FleetError> {
        let traffic = self.state().tick();
        for (host, traffic) in traffic {
            self.0.monitor.traffic(&host, &traffic);
        }
        self.free_unrecorded().await;
        // Changes that commands and other workers have written.
        let mut taken = self.applied(FleetRecord::read_again, FleetState::take_up).await?;
        if taken.differs {
            let load = |state: &mut FleetState, sources| state.load(ReadSources::all(sources));
            taken.unknown = self.applied(|record| record.sources(), load).await?;
        }
        for (name, hold) in taken.unknown {
            self.recorded(move |record| record.give_back(&name, hold)).await?;
        }
        self.watch_unwatched();
        if taken.is_news || taken.differs {
            self.news();
        }
        Ok(())
    }

    fn news(&self) {
        self.0.changed.send_modify(|number| *number += 1);
        self.0.wake.notify_one();
    }

    /// Returns a number that grows with each change of the fleet.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    fn state(&self) -> MutexGuard<'_, FleetState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
