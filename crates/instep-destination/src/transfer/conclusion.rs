//! The end of a transfer: the deletions, and the checkpoint.

use super::pipeline::Pipeline;
use crate::{
    Error, Outcome, Phase,
    run::{SetRun, SyncRun},
    state::Checkpoint,
};

impl SyncRun<'_> {
    /// Carries out the deletions, and moves the checkpoint with the last group. The checkpoint stays if the run ends
    /// early or the guard refuses deletions.
    pub(super) async fn conclude(
        &mut self,
        mut set: SetRun,
        checkpoint: Option<Checkpoint>,
    ) -> Result<(), Error> {
        if !set.has_deleted && set.with(|draft| draft.totals()).deletions > 0 {
            self.reporter.enter(Phase::Deleting);
        }
        let records = self.with_readers(set.id, std::mem::take(&mut set.records))?;
        let keeps = self.expect_held_though_gone(&set)?;
        let settings = self.copy.settings_of_plan(&set, self.options)?;
        let mut pipeline = Pipeline::open(self)?;
        let mut result = if set.has_deleted { Ok(()) } else { pipeline.delete(self, &set).await };
        let ended = self.ending();
        let passed = checkpoint.filter(|_| ended.is_none() && result.is_ok() && set.refused.is_none());
        let moves = passed.is_some();
        self.tally.done += set.with(|draft| draft.repeated);
        if let Some(checkpoint) = passed {
            // Checked first: a checkpoint that is recorded cannot be taken back.
            result = self.tally.with(pipeline.done).check();
            if result.is_ok() {
                result = pipeline.forget_deletions(&set).await;
            }
            if result.is_ok() {
                result = pipeline.remember(set.id, records, checkpoint, settings).await;
            }
        }
        pipeline.close(self).await.and(result)?;
        self.settle_held_though_gone(&set, keeps)?;
        if let Some(at) = set.inventory.filter(|_| moves) {
            self.copy.state_mut()?.forget_deletions(set.id, at)?;
        }
        if let Some(time) = set.forgets_before.filter(|_| moves) {
            self.copy.state_mut()?.forget_old_deletions(set.id, time)?;
        }
        self.reporter.report.outcome = ended.unwrap_or(Outcome::Complete);
        set.refused.map_or(Ok(()), Err)
    }

    /// Records that deletions of the set are left to do, so that the next run that may delete looks for them (O56).
    /// This comes before the deletions are recorded, because a kill in between must not leave deletions that no run
    /// looks for.
    pub(super) fn expect_held_though_gone(&mut self, set: &SetRun) -> Result<bool, Error> {
        let keeps = set.keeps_what_is_gone();
        if keeps {
            self.copy.expect_held_though_gone(set.id)?;
        }
        Ok(keeps)
    }

    /// Records that no deletion of the set is left to do, if all of them were carried out.
    pub(super) fn settle_held_though_gone(&mut self, set: &SetRun, keeps: bool) -> Result<(), Error> {
        let is_done = self.options.delete && !keeps && set.refused.is_none() && self.ending().is_none();
        if is_done { self.copy.settle_held_though_gone(set.id) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
