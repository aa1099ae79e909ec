//! Help for other workers: slices of the large plans that they share, while nothing here is due.

use std::{collections::BTreeSet, time::Duration};

use instep_destination::{ErrorKind, SharedPlans, Shutdown, SyncOptions, VoidMonitor, help};
use tokio::{
    runtime::Handle,
    task::{JoinHandle, JoinSet, spawn_blocking},
    time::sleep,
};

use super::Fleet;
use crate::name::SourceName;

/// The time between two searches for shared plans.
const LOOK: Duration = Duration::from_secs(1);

/// The time after which a plan is helped with again after a failure: the cause is usually on this worker.
const HELP_AGAIN: Duration = Duration::from_secs(60);

/// The time between two searches after a failed one.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// The help of this worker for others, until it is ended.
pub(super) struct Help {
    ending: Shutdown,
    task: JoinHandle<()>,
}

impl Help {
    /// Commits the resources that have arrived, and ends.
    pub(super) async fn end(self) {
        self.ending.request();
        let _ = self.task.await;
    }
}

impl Fleet {
    /// Begins to help others.
    pub(super) fn begin_to_help(&self, shutdown: &Shutdown) -> Help {
        self.state().sweep_help();
        let (fleet, ending) = (self.clone(), shutdown.child());
        let until = ending.clone();
        Help { ending, task: tokio::spawn(async move { fleet.help_others(until).await }) }
    }

    /// Takes slices of plans that other workers share, for as long as there is room, until the shutdown.
    async fn help_others(&self, shutdown: Shutdown) {
        let Some(url) = self.state().options().state.clone() else { return };
        let mut plans = match SharedPlans::at(&url) {
            Ok(plans) => plans,
            Err(error) => return tracing::warn!(%error, "no plan can be shared"),
        };
        let (mut helping, mut helped) = (JoinSet::new(), BTreeSet::new());
        while !shutdown.is_requested() {
            while let Some(ended) = helping.try_join_next() {
                helped.retain(|name| ended.as_ref().is_ok_and(|ended| ended != name));
            }
            let asked = spawn_blocking(move || {
                let waiting = plans.waiting();
                (plans, waiting)
            });
            let Ok((again, waiting)) = asked.await else { return };
            plans = again;
            let pause = match waiting {
                Ok(names) => {
                    self.help_with(&names, (&mut helping, &mut helped), &shutdown);
                    LOOK
                }
                Err(error) => {
                    tracing::debug!(%error, "shared plans cannot be looked for");
                    LOOK_AGAIN
                }
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = shutdown.requested() => {}
            }
        }
        while helping.join_next().await.is_some() {}
    }

    /// Begins to help with plans of copies without other work here, if nothing is due.
    fn help_with(
        &self,
        names: &[String],
        (helping, helped): (&mut JoinSet<SourceName>, &mut BTreeSet<SourceName>),
        shutdown: &Shutdown,
    ) {
        for name in names {
            let Ok(name) = name.parse::<SourceName>() else { continue };
            if !self.0.lease.acts() || helped.contains(&name) {
                continue;
            }
            let Some(mut options) = self.state().to_help(&name, helped.len()) else { continue };
            options.shutdown = shutdown.child();
            helped.insert(name.clone());
            let (fleet, runtime) = (self.clone(), Handle::current());
            // On its own thread, like a look: it reads and writes the state of the copy.
            helping.spawn_blocking(move || {
                runtime.block_on(fleet.help_one(&name, options));
                name
            });
        }
    }

    async fn help_one(&self, name: &SourceName, options: SyncOptions) {
        match help(&options, &VoidMonitor).await {
            Ok(None) => {}
            Ok(Some(report)) => {
                let what = report.created + report.updated + report.unchanged;
                self.0.monitor.note(&format!("Helped with the plan of {name}: {what} resources"));
            }
            // The run that shares the plan has ended, or this worker was removed: others fetch the uncommitted
            // resources.
            Err(error) if error.kind() == ErrorKind::Locked => {}
            Err(error) => {
                let what = instep_store::error_chain(&error);
                self.0.monitor.note(&format!("Cannot help with the plan of {name}: {what}"));
                tokio::select! {
                    () = sleep(HELP_AGAIN) => {}
                    () = options.shutdown.requested() => {}
                }
            }
        }
    }
}
