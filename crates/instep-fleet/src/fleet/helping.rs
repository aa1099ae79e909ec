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

/// The help under way, each with the plan that it is for.
#[derive(Default)]
struct Helpers {
    tasks: JoinSet<SourceName>,
    names: BTreeSet<SourceName>,
}

impl Helpers {
    /// Begins to help with a plan. A fault in the program is a failure of that help only.
    fn begin(&mut self, name: SourceName, shutdown: &Shutdown, help: impl FnOnce() + Send + 'static) {
        self.names.insert(name.clone());
        let shutdown = shutdown.clone();
        self.tasks.spawn(async move {
            if spawn_blocking(help).await.is_err() {
                wait_to_help_again(&shutdown).await;
            }
            name
        });
    }

    /// Forgets the plans whose help has ended.
    fn forget_ended(&mut self) {
        while let Some(ended) = self.tasks.try_join_next() {
            if let Ok(name) = ended {
                self.names.remove(&name);
            }
        }
    }
}

/// Waits before a plan is helped with again.
async fn wait_to_help_again(shutdown: &Shutdown) {
    tokio::select! {
        () = sleep(HELP_AGAIN) => {}
        () = shutdown.requested() => {}
    }
}

impl Fleet {
    /// Begins to help others. `former` is the killed process that had the folder of this one.
    pub(super) fn begin_to_help(&self, shutdown: &Shutdown, former: Option<String>) -> Help {
        self.state().sweep_help();
        let (fleet, ending) = (self.clone(), shutdown.child());
        let until = ending.clone();
        Help { ending, task: tokio::spawn(async move { fleet.help_others(until, former).await }) }
    }

    /// Takes slices of plans that other workers share, for as long as there is room, until the shutdown.
    async fn help_others(&self, shutdown: Shutdown, former: Option<String>) {
        let Some(url) = self.state().options().state.clone() else { return };
        let mut plans = match SharedPlans::at(&url, &shutdown) {
            Ok(plans) => plans,
            Err(error) => return tracing::warn!(%error, "no plan can be shared"),
        };
        if let Some(process) = former {
            let ended = spawn_blocking(move || {
                if let Err(error) = plans.end_shares_of(&process) {
                    // The runs that have the plans see that the heartbeats have stopped.
                    tracing::debug!(%error, "the shares of the last process with this folder are not ended");
                }
                plans
            });
            let Ok(again) = ended.await else { return };
            plans = again;
        }
        let mut helpers = Helpers::default();
        while !shutdown.is_requested() {
            helpers.forget_ended();
            let asked = spawn_blocking(move || {
                let waiting = plans.waiting();
                (plans, waiting)
            });
            let Ok((again, waiting)) = asked.await else { break };
            plans = again;
            let pause = match waiting {
                Ok(names) => {
                    self.help_with(&names, &mut helpers, &shutdown);
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
        while helpers.tasks.join_next().await.is_some() {}
    }

    /// Begins to help with plans of copies without other work here, if nothing is due.
    fn help_with(&self, names: &[String], helpers: &mut Helpers, shutdown: &Shutdown) {
        for name in names {
            let Ok(name) = name.parse::<SourceName>() else { continue };
            if !self.0.lease.acts() || helpers.names.contains(&name) {
                continue;
            }
            let Some(mut options) = self.state().to_help(&name, helpers.names.len()) else { continue };
            options.shutdown = shutdown.child();
            let (fleet, of, runtime) = (self.clone(), name.clone(), Handle::current());
            // On its own thread, like a look: it reads and writes the state of the copy.
            helpers.begin(name, shutdown, move || runtime.block_on(fleet.help_one(&of, options)));
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
                wait_to_help_again(&options.shutdown).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn o516_a_fault_in_one_help_forgets_no_other_and_is_not_repeated_at_once() {
        let (mut helpers, shutdown) = (Helpers::default(), Shutdown::new());
        let (end, ends) = std::sync::mpsc::channel::<()>();
        helpers.begin("fails".parse().unwrap(), &shutdown, || panic!("a fault in the program"));
        helpers.begin("ends".parse().unwrap(), &shutdown, || {});
        helpers.begin("goes-on".parse().unwrap(), &shutdown, move || ends.recv().unwrap_or_default());
        while helpers.names.len() > 2 {
            tokio::task::yield_now().await;
            helpers.forget_ended();
        }
        let names: Vec<_> = helpers.names.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["fails", "goes-on"]);
        shutdown.request();
        drop(end);
        while !helpers.names.is_empty() {
            tokio::task::yield_now().await;
            helpers.forget_ended();
        }
    }
}
