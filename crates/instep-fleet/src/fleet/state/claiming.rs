//! The answer to a claim: a look begins, or its Source is put back.

use std::sync::Arc;

use instep_destination::Shutdown;

use super::{FleetState, LookInProgress, NextSource};
use crate::{fleet::look::LookTask, name::SourceName, record::Claim, standing::FleetSource};

/// The consequence of the answer to a claim.
pub(in crate::fleet) enum AfterClaim {
    /// A look begins.
    Look(Box<LookTask>),
    /// The Source is gone, and another one may be next.
    Gone,
    /// Another Source may be next.
    Other,
    /// None is next: this worker was removed.
    Removed,
}

impl FleetState {
    /// Takes the answer to the claim of a Source.
    pub(in crate::fleet) fn claimed(
        &mut self,
        next: NextSource,
        claim: Claim,
        shutdown: &Shutdown,
    ) -> AfterClaim {
        match claim {
            Claim::Taken(source) => return AfterClaim::Look(Box::new(self.begin(next, *source, shutdown))),
            Claim::NotFree(Some(found)) => self.put_back(&next.name, Some(*found)),
            Claim::NotFree(None) => {
                // If it were put back, this loop would claim it again and again: the record is read only after it.
                self.forget(&next);
                return AfterClaim::Gone;
            }
            Claim::HostFull => self.hold_back(&next),
            Claim::Removed => {
                self.put_back(&next.name, None);
                return AfterClaim::Removed;
            }
        }
        AfterClaim::Other
    }

    /// Begins a look at a Source that the record has given to this worker.
    fn begin(&mut self, next: NextSource, mut source: FleetSource, shutdown: &Shutdown) -> LookTask {
        let NextSource { name, grant, .. } = next;
        source.running = source.standing.began;
        let ending = shutdown.child();
        let task = LookTask {
            copy: source.definition.copy(&self.options.place()),
            definition: source.definition.clone(),
            standing: source.standing.clone(),
            hold: source.hold,
            began: source.standing.began.unwrap_or_default(),
            client: self.shared.client.clone(),
            fleet: self.options.clone(),
            grant,
            shutdown: ending.clone(),
        };
        let (dir, hold) = (task.copy.dir.clone(), task.hold);
        let look = LookInProgress { ending, grant: grant.unwrap_or(0), dir, hold };
        self.looks.insert(name, look);
        self.sources.insert(Arc::new(source));
        task
    }

    /// Puts a Source back that could not be claimed. `found` is its present state, if known.
    pub(in crate::fleet) fn put_back(&mut self, name: &SourceName, found: Option<FleetSource>) {
        self.queue.done(name);
        if let Some(found) = found {
            self.take(found);
        }
        self.enqueue(name);
    }

    /// Forgets a Source that could not be claimed because the record no longer has it.
    fn forget(&mut self, next: &NextSource) {
        self.queue.done(&next.name);
        // An operator may have added another one with its name meanwhile.
        if self.sources.get(&next.name).is_some_and(|known| known.hold.changed == next.changed) {
            self.sources.remove(&next.name);
        }
        self.enqueue(&next.name);
    }

    /// Puts a Source back whose host has reached the limit of looks over all workers, and does not use the host for a
    /// while.
    fn hold_back(&mut self, next: &NextSource) {
        self.put_back(&next.name, None);
        self.queue.hold_back(&next.host);
    }
}
