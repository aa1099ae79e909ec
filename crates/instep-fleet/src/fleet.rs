//! The process that keeps a fleet current: takes the Source whose turn it is, looks at it, writes down what came of it.
//!
//! One task decides; each look is a task of its own. Everything that is decided is in the record before it is acted on,
//! so that a killed process goes on where it was, and several can keep one fleet.

mod alerting;
mod desk;
mod figures;
#[cfg(feature = "postgres")]
mod helping;
mod keeping;
mod lease;
mod look;
mod looking;
mod operating;
mod own_record;
mod seating;
mod state;
mod watching;

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use instep_destination::{Monitor, ObjectLayout, SharedCallbacks, Shutdown, Traffic, check_place, now};
use instep_store::{Lock, LockError, RootFolder};
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
pub use operating::SourceOperation;
use state::FleetState;

/// The time between two looks at the record, which commands write, and at the clock: the schedule counts in seconds.
const TICK: Duration = Duration::from_secs(1);

/// Receives what happens in a fleet.
pub trait FleetMonitor: Send + Sync {
    /// A look at a Source begins, whose copy is in a folder; the returned monitor receives the events of its run.
    fn begins(&self, name: &SourceName, copy: &Path) -> Arc<dyn Monitor>;

    /// A look at a Source has ended. `source` says how; `None` if it was forgotten meanwhile, or another worker has it.
    fn ended(&self, name: &SourceName, source: Option<&FleetSource>);

    /// The requests to a host since the last call about it.
    fn traffic(&self, host: &str, traffic: &Traffic);

    /// A sentence for the operator.
    fn note(&self, text: &str);
}

/// A fleet that this process keeps. Clones are one and the same.
#[derive(Clone)]
pub struct Fleet(Arc<SharedFleet>);

struct SharedFleet {
    state: Mutex<FleetState>,
    record: Arc<Mutex<FleetRecord>>,
    lease: WorkerLease,
    /// Something may have to begin.
    wake: Notify,
    /// A number that grows with each change.
    changed: watch::Sender<u64>,
    monitor: Arc<dyn FleetMonitor>,
    _lock: Lock,
}

impl Fleet {
    /// Takes the fleet in a folder; makes it if there is none.
    ///
    /// # Errors
    /// If another process keeps it, the record cannot be opened, an option cannot be used, or a Source of the
    /// configuration file clashes with one that an operator added.
    pub fn open(
        options: FleetOptions,
        configured: &[SourceDefinition],
        monitor: Arc<dyn FleetMonitor>,
    ) -> Result<Self, FleetError> {
        check(&options, configured)?;
        let mut record = FleetRecord::open(&options.place())?;
        FleetRecord::make_folder(&options.dir)?;
        let lock = lock(&options.dir)?;
        configure(&mut record, configured)?;
        let lease = WorkerLease::new(&options, record.is_shared())?;
        let mut state = FleetState::new(options, lease.gate().clone(), lease.seats().cloned())?;
        state.load(record.read_again()?);
        Ok(Self(Arc::new(SharedFleet {
            state: Mutex::new(state),
            record: Arc::new(Mutex::new(record)),
            lease,
            wake: Notify::new(),
            changed: watch::Sender::new(0),
            monitor,
            _lock: lock,
        })))
    }

    /// Looks at each Source when it is due, until `shutdown`. Looks that are under way then commit what has arrived.
    ///
    /// # Errors
    /// If the record cannot be read or written, or the address for hubs cannot be listened on.
    pub async fn run(&self, shutdown: Shutdown) -> Result<(), FleetError> {
        let callbacks = self.state().options().callbacks.clone();
        if let Some(callbacks) = callbacks {
            let callbacks = SharedCallbacks::open(&callbacks).await?;
            self.state().deliver_at(Some(callbacks));
        }
        self.register().await?;
        let fleet = self.clone();
        let beside = async move { tokio::join!(fleet.keep_lease(), fleet.keep_seats(), fleet.send_alerts()) };
        let beside = tokio::spawn(beside);
        #[cfg(feature = "postgres")]
        let help = self.begin_to_help(&shutdown);
        let result = self.look_until(&shutdown).await;
        // Each look has the shutdown as its parent: after an error nobody else would ask them to end.
        self.state().end_all();
        while self.state().running() > 0 {
            tokio::select! {
                () = self.0.wake.notified() => {}
                () = sleep(TICK) => {}
            }
        }
        #[cfg(feature = "postgres")]
        help.end().await;
        self.end_watches().await;
        self.state().deliver_at(None);
        // An alert that was not sent is sent by the next process.
        beside.abort();
        self.leave().await;
        result
    }

    async fn look_until(&self, shutdown: &Shutdown) -> Result<(), FleetError> {
        let mut ticks = tokio::time::interval(TICK);
        let mut is_waiting = false;
        loop {
            let step = async {
                self.begin_looks(shutdown).await?;
                tokio::select! {
                    () = shutdown.requested() => Ok(true),
                    () = self.0.wake.notified() => Ok(false),
                    _ = ticks.tick() => self.tick().await.map(|()| false),
                }
            };
            match step.await {
                Ok(true) => return Ok(()),
                Ok(false) => is_waiting = false,
                Err(error) if error.may_pass() => {
                    if !std::mem::replace(&mut is_waiting, true) {
                        self.0.monitor.note(&format!("Waiting for the record of the fleet: {error}"));
                    }
                    tokio::select! {
                        () = shutdown.requested() => return Ok(()),
                        () = sleep(TICK) => {}
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads or writes the record, beside the threads that run tasks: it may have to be waited for.
    async fn recorded<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut FleetRecord) -> Result<T, FleetError> + Send + 'static,
    ) -> Result<T, FleetError> {
        let record = Arc::clone(&self.0.record);
        let done = spawn_blocking(move || work(&mut record.lock().unwrap_or_else(PoisonError::into_inner)));
        done.await.unwrap_or_else(|fault| std::panic::resume_unwind(fault.into_panic()))
    }

    /// Takes over other options and another configuration. Looks that are under way end with those that they have.
    ///
    /// # Errors
    /// As for [`Self::open`]; then everything stays as it was.
    pub async fn reload(
        &self,
        options: FleetOptions,
        configured: &[SourceDefinition],
    ) -> Result<(), FleetError> {
        let configured = configured.to_vec();
        let checked = options.clone();
        let sources = self.recorded(move |record| {
            check(&checked, &configured)?;
            configure(record, &configured)?;
            record.sources()
        });
        let sources = sources.await?;
        {
            let mut state = self.state();
            state.reload(options)?;
            state.load(ReadSources { sources, are_all: true, number: None });
        }
        self.news();
        Ok(())
    }

    async fn tick(&self) -> Result<(), FleetError> {
        let traffic = self.state().tick();
        for (host, traffic) in traffic {
            self.0.monitor.traffic(&host, &traffic);
        }
        let read = self.recorded(FleetRecord::read_again).await?;
        if read.are_all || !read.sources.is_empty() || read.number.is_some() {
            self.take_up(read).await?;
        }
        Ok(())
    }

    /// Takes up what others have written.
    async fn take_up(&self, read: ReadSources) -> Result<(), FleetError> {
        let (number, is_news) = (read.number, read.are_all || !read.sources.is_empty());
        let mut unknown = self.state().load(read);
        if number.is_some_and(|number| number != self.state().sources().len() as u64) {
            let sources = self.recorded(|record| record.sources()).await?;
            unknown = self.state().load(ReadSources { sources, are_all: true, number: None });
        }
        for (name, hold) in unknown {
            self.recorded(move |record| record.give_back(&name, hold)).await?;
        }
        if is_news {
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

/// Refuses options that do not go together, and object storage that cannot be used.
fn check(options: &FleetOptions, configured: &[SourceDefinition]) -> Result<(), FleetError> {
    for definition in configured {
        definition.expect_shared(options)?;
    }
    let Some(store) = &options.store else { return Ok(()) };
    if options.state.is_some() && store.layout == ObjectLayout::Names {
        let what = "several workers cannot share a copy with an object per resource: leave ?layout=names out";
        return Err(FleetError::Usage { what: what.to_owned() });
    }
    Ok(check_place(store)?)
}

/// Makes the configuration file's Sources those of the fleet. Of a shared one a worker without any forgets none.
fn configure(record: &mut FleetRecord, configured: &[SourceDefinition]) -> Result<(), FleetError> {
    if record.is_shared() && configured.is_empty() {
        return Ok(());
    }
    record.configure(configured, seconds())
}

/// The time, in seconds since 1970.
fn seconds() -> i64 {
    now().unix_micros().div_euclid(1_000_000)
}

fn lock(dir: &Path) -> Result<Lock, FleetError> {
    let failing = |what: String| FleetError::Folder { dir: dir.to_owned(), what };
    let own = RootFolder::open(&FleetRecord::own_folder(dir)).map_err(|error| failing(error.to_string()))?;
    match Lock::take(&own, &format!("process {}: instep run", std::process::id())) {
        Ok(lock) => Ok(lock),
        Err(LockError::Held { holder }) => Err(FleetError::Locked { dir: dir.to_owned(), holder }),
        Err(error) => Err(failing(error.to_string())),
    }
}

#[cfg(test)]
mod tests;
