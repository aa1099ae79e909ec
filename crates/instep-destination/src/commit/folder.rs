//! A group whose resources have names: write the intent, give and remove names, sync the names.
//!
//! After a crash at any instant, the next start finds the intent and inspects the final names.

use std::sync::Arc;

use super::{CommitError, Committer, Step, record::Refused, work::Work};
use crate::{
    state::{IntentId, Operation, Waits},
    store::{CopyNames, StagedName, StoreError},
};

impl Committer {
    /// Carries out the operations of a group. Operations that are blocked are removed from it and become pending.
    pub(super) fn give_names(
        &mut self,
        work: &mut Work,
        names: &Arc<dyn CopyNames>,
    ) -> Result<IntentId, CommitError> {
        self.step(Step::SyncStaged)?;
        if !names.are_rows() {
            // The bytes are synced before the intent: an intent that survives a power loss must find complete files.
            self.store.staging().sync_staged(&work.staged())?;
        }
        self.step(Step::WriteIntent)?;
        // The only point of a group at which the state waits for the disk: after it, the next start knows every step
        // that may have begun.
        self.state.set_waits(self.waits(Waits::Disk))?;
        let intent = self.state.write_intent(&work.operations)?;
        work.refuse(self.perform(&work.operations, &**names)?);
        self.step(Step::SyncNames)?;
        // The names are synced before the group is recorded: everything that the state records as held must be on disk,
        // also after a power loss (invariant 5).
        names.sync_names()?;
        Ok(intent)
    }

    /// Runs the operations in order; returns those that are blocked.
    fn perform(&self, operations: &[Operation], names: &dyn CopyNames) -> Result<Vec<Refused>, CommitError> {
        let mut refused = Vec::new();
        let mut made = "";
        for (index, operation) in operations.iter().enumerate() {
            self.step(Step::Operation(index))?;
            match perform_one(operation, names, &mut made) {
                Ok(()) => {}
                // A name that is blocked affects only its own resource; the rest of the group is committed.
                Err(error) if error.concerns_one_resource() => refused.push(Refused { index, error }),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(refused)
    }
}

fn perform_one<'o>(
    operation: &'o Operation,
    names: &dyn CopyNames,
    made: &mut &'o str,
) -> Result<(), StoreError> {
    match operation {
        Operation::Place { path, staged, metadata, .. } => {
            if path.folder() != *made {
                names.make_folder(path.folder())?;
                *made = path.folder();
            }
            let media_type = metadata.media_type.as_ref().map(|kind| kind.as_str());
            names.place_as(StagedName::from(*staged), path, media_type)
        }
        Operation::Remove { path, staged, .. } => names.remove(path, StagedName::from(*staged)),
        Operation::Move { from, to, staged, .. } => names.move_within(from, to, StagedName::from(*staged)),
    }
}
