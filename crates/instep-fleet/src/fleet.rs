//! The process that keeps a fleet current: takes the Source whose turn it is, looks at it, writes down what came of it.
//!
//! One task decides; each look is a task of its own. Everything that is decided is in the record before it is acted on,
//! so that a killed process goes on where it was.

mod alerting;
mod figures;
mod look;
mod operating;
mod state;
mod watching;

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use instep_destination::{Monitor, SharedCallbacks, Shutdown, Traffic, now};
use instep_store::{Lock, LockError, RootFolder};
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    task::spawn_blocking,
    time::sleep,
};

use crate::{
    FleetError, definition::SourceDefinition, name::SourceName, options::FleetOptions, record::FleetRecord,
    standing::FleetSource,
};
pub use figures::FleetFigures;
use look::{LookOutcome, LookTask};
pub use operating::SourceOperation;
use state::FleetState;
use watching::SourceWatch;

/// The time between two looks at the record, which commands write, and at the clock: the schedule counts in seconds.
const TICK: Duration = Duration::from_secs(1);

/// The time between two sendings of alerts: a host that goes down with hundreds of Sources is one message.
const BETWEEN_ALERTS: Duration = Duration::from_secs(2);
/// The time after which alerts that did not arrive are sent again.
const ALERT_AGAIN: Duration = Duration::from_secs(60);
/// Alerts of one message.
const MOST_ALERTS: usize = 200;

/// Receives what happens in a fleet.
pub trait FleetMonitor: Send + Sync {
    /// A look at a Source begins, whose copy is in a folder; the returned monitor receives the events of its run.
    fn begins(&self, name: &SourceName, copy: &Path) -> Arc<dyn Monitor>;

    /// A look at a Source has ended; its standing says how.
    fn ended(&self, source: &FleetSource);

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
        let record = FleetRecord::open(&options.dir)?;
        let lock = lock(&options.dir)?;
        let mut state = FleetState::new(record, options)?;
        state.configure(configured, seconds())?;
        let state = Mutex::new(state);
        Ok(Self(Arc::new(SharedFleet {
            state,
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
        let fleet = self.clone();
        let alerting = tokio::spawn(async move { fleet.send_alerts().await });
        let mut ticks = tokio::time::interval(TICK);
        let result = loop {
            if let Err(error) = self.begin_looks(&shutdown) {
                break Err(error);
            }
            tokio::select! {
                () = shutdown.requested() => break Ok(()),
                () = self.0.wake.notified() => {}
                _ = ticks.tick() => if let Err(error) = self.tick() { break Err(error) },
            }
        };
        // Each look has the shutdown as its parent: after an error nobody else would ask them to end.
        self.state().end_all();
        while self.state().running() > 0 {
            tokio::select! {
                () = self.0.wake.notified() => {}
                () = sleep(TICK) => {}
            }
        }
        // Each takes a few seconds at most, and all end at the same time.
        let watches = self.state().end_watches();
        for watch in watches {
            let _ = watch.await;
        }
        self.state().deliver_at(None);
        // An alert that was not sent is sent by the next process.
        alerting.abort();
        result
    }

    /// Sends alerts as they are written down, those of a moment together, each until it has arrived.
    async fn send_alerts(&self) {
        loop {
            sleep(BETWEEN_ALERTS).await;
            if let Err(what) = self.send_unsent_alerts().await {
                self.0.monitor.note(&format!("An alert could not be sent: {what}"));
                sleep(ALERT_AGAIN).await;
            }
        }
    }

    async fn send_unsent_alerts(&self) -> Result<(), String> {
        let (options, (last, alerts)) = {
            let mut state = self.state();
            let unsent = state.record().unsent_alerts(MOST_ALERTS).map_err(|error| error.to_string())?;
            (state.options().clone(), unsent)
        };
        if alerts.is_empty() {
            return Ok(());
        }
        alerting::send(&options, &alerts).await?;
        self.state().record().alerts_sent(last).map_err(|error| error.to_string())
    }

    /// Takes over other options and another configuration. Looks that are under way end with those that they have.
    ///
    /// # Errors
    /// As for [`Self::open`]; then everything stays as it was.
    pub fn reload(&self, options: FleetOptions, configured: &[SourceDefinition]) -> Result<(), FleetError> {
        self.state().reload(options, configured, seconds())?;
        self.news();
        Ok(())
    }

    fn begin_looks(&self, shutdown: &Shutdown) -> Result<(), FleetError> {
        if shutdown.is_requested() {
            return Ok(());
        }
        loop {
            let task = self.state().next(shutdown, seconds())?;
            let Some(task) = task else { return Ok(()) };
            self.begin(task);
        }
    }

    /// Begins a look on a thread of its own: a run reads and writes the state of its copy, which would keep requests of
    /// other looks waiting. One that ends by a fault in the program is a failure of that look only.
    fn begin(&self, task: LookTask) {
        let name = task.definition.name.clone();
        let monitor = self.0.monitor.begins(&name, &task.dir);
        self.news();
        let runtime = Handle::current();
        let look = spawn_blocking(move || runtime.block_on(look::look(task, &*monitor)));
        let fleet = self.clone();
        tokio::spawn(async move {
            let outcome = look.await.unwrap_or_else(|error| LookOutcome::broken(&error));
            let ended = fleet.state().finish(&name, outcome, seconds());
            match ended {
                Ok(Some(source)) => {
                    fleet.watch(&source);
                    fleet.0.monitor.ended(&source);
                }
                Ok(None) => {}
                Err(error) => {
                    fleet.0.monitor.note(&format!("The end of a look at {name} is not recorded: {error}"))
                }
            }
            fleet.news();
        });
    }

    /// Listens to the channels of a Source that is followed, once it was in step.
    fn watch(&self, source: &FleetSource) {
        let mut state = self.state();
        let Some(options) = state.to_watch(source) else { return };
        let (fleet, name) = (self.clone(), source.definition.name.clone());
        let news = move || {
            if fleet.state().push(&name, seconds()) {
                fleet.news();
            }
        };
        let folder = FleetRecord::own_folder(&state.options().dir);
        let ending = Shutdown::new();
        let task = tokio::spawn(watching::watch((options, folder), state.callbacks(), ending.clone(), news));
        state.watched(SourceWatch { definition: source.definition.clone(), ending, task });
    }

    fn tick(&self) -> Result<(), FleetError> {
        let (changed, traffic) = {
            let mut state = self.state();
            (state.take_up()?, state.take_traffic())
        };
        for (host, traffic) in traffic {
            self.0.monitor.traffic(&host, &traffic);
        }
        if changed {
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
