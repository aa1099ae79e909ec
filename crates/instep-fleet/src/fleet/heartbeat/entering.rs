//! The entry of this process into the record of a fleet, as a new worker.

use std::sync::Arc;

use crate::{
    FleetError,
    fleet::{FleetMonitor, worker_note::WorkerNote},
    record::{FleetRecord, FleetWorker},
    share::WorkerId,
    standing::FleetSource,
};

/// A worker that is about to enter the record.
pub(super) struct WorkerEntry {
    pub(super) worker: FleetWorker,
    /// The worker that the last process with this folder was.
    pub(super) former: Option<WorkerId>,
    /// The note in the folder of this process; `None` if no other worker can keep the fleet.
    pub(super) note: Option<WorkerNote>,
    pub(super) monitor: Arc<dyn FleetMonitor>,
}

/// The record after a worker has entered it.
pub(super) struct EnteredWorker {
    pub(super) workers: Vec<FleetWorker>,
    /// All Sources, if those of dead workers were freed.
    pub(super) freed: Option<Vec<FleetSource>>,
    /// `true` if the record still had the former worker of the folder.
    pub(super) was_there: bool,
}

impl WorkerEntry {
    /// Frees the Sources, seats and alerts of workers that are known to be dead, and enters the record.
    pub(super) fn enter(self, record: &FleetRecord) -> Result<EnteredWorker, FleetError> {
        let Self { worker, former, note, monitor } = self;
        let was_there = match former {
            Some(former) => record.remove_worker(former, None)?,
            None => false,
        };
        if was_there {
            monitor.note(
                "The last worker with this folder ended without leaving the fleet; its Sources are free",
            );
        }
        let mut freed = None;
        if let Some(note) = &note {
            // Before the record has the worker, so that it is known whenever this process is killed.
            note.write(worker.id, &worker.name);
        } else {
            // The process that has the lock of the folder knows that all others are dead.
            for former in record.workers()? {
                record.remove_worker(former.id, None)?;
                freed = Some(record.sources()?);
            }
        }
        record.register(&worker)?;
        let workers = record.workers()?;
        if note.is_some() && workers.len() == 1 {
            // Nobody knows how much is left of pauses that the last worker left behind.
            record.forget_lanes()?;
        }
        Ok(EnteredWorker { workers, freed, was_there })
    }
}
