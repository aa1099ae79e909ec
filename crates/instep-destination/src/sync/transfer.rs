//! The plan is carried out: fetch, commit in groups, delete last, move the checkpoint with the last group.

mod adopt;
mod early;
mod patches;
mod pipeline;
mod settle;
mod unpack;
mod versions;

use std::collections::BTreeMap;

use resourcesync::Uri;

use super::{Carrier, Inventory, changes::Changes, run::Run, set::SetRun};
use crate::{Error, Outcome, Phase, ProblemKind, commit::Commit, discover::CapabilitySet, state::Checkpoint};
use pipeline::Pipeline;

/// Resources that failed and may be explained by a change that was published meanwhile, with what is to be said
/// otherwise.
pub(super) type Unexplained = BTreeMap<String, (ProblemKind, String)>;

/// How often the changes are read again for what does not match it.
const ROUNDS: usize = 3;

impl Run<'_> {
    /// Carries out a plan. The checkpoint moves when every action is committed or owed, and not before.
    pub(super) async fn carry_out(
        &mut self,
        found: &CapabilitySet,
        mut set: SetRun,
        mut checkpoint: Option<Checkpoint>,
        carrier: Carrier,
    ) -> Result<(), Error> {
        let mut unexplained = Unexplained::new();
        self.enter(Phase::Fetching);
        self.fetch(&set, carrier, &mut unexplained).await?;
        for _ in 0..ROUNDS {
            let Some(reached) = &checkpoint else { break };
            if unexplained.is_empty() || self.ending().is_some() {
                break;
            }
            let reached = reached.clone();
            // What is read now may bring back what this plan deletes.
            self.delete(&set).await?;
            let (later, plan) = self.look_again(found, set, reached, &mut unexplained).await?;
            let news = plan.new_documents;
            (set, checkpoint) = (plan, Some(later));
            if !news {
                break;
            }
            self.fetch(&set, Carrier::Requests, &mut unexplained).await?;
        }
        self.tell_unexplained(unexplained);
        if self.ending().is_none() {
            self.fetch_versions(&set).await?;
        }
        self.conclude(set, checkpoint).await
    }

    /// Fetches what a plan asks for.
    pub(super) async fn fetch(
        &mut self,
        set: &SetRun,
        carrier: Carrier,
        unexplained: &mut Unexplained,
    ) -> Result<(), Error> {
        let (joining, settled) =
            set.with(|draft| (std::mem::take(&mut draft.joining), std::mem::take(&mut draft.settled)));
        if !joining.is_empty() {
            self.copy.state_mut()?.join(set.id, &joining)?;
        }
        let owing = set.with(|draft| std::mem::take(&mut draft.owing));
        let mut pipeline = Pipeline::open(self)?;
        let mut result = Ok(());
        for owed in owing {
            result = result.and(pipeline.send(Commit::Owed(set.id, owed)).await);
        }
        for uri in settled.iter().filter_map(|uri| Uri::parse(uri).ok()) {
            result = result.and(pipeline.send(Commit::Paid(uri)).await);
        }
        if result.is_ok() {
            result = pipeline.note(self, set).await;
        }
        if result.is_ok() {
            result = pipeline.keep_versions(self, set).await;
        }
        if result.is_ok() && self.options.adopt {
            result = pipeline.adopt(self, set).await;
        }
        if result.is_ok() {
            result = pipeline.bring(self, set, carrier).await;
        }
        if result.is_ok() {
            result = pipeline.fetch(self, set, unexplained).await;
        }
        pipeline.close(self).await.and(result)
    }

    /// Removes what a plan says is gone.
    async fn delete(&mut self, set: &SetRun) -> Result<(), Error> {
        self.enter(Phase::Deleting);
        let mut pipeline = Pipeline::open(self)?;
        let result = pipeline.delete(self, set).await;
        pipeline.close(self).await.and(result)
    }

    /// Deletes, and moves the checkpoint with the last group; a run that ends early or is refused something leaves it where it is.
    async fn conclude(&mut self, set: SetRun, checkpoint: Option<Checkpoint>) -> Result<(), Error> {
        self.enter(Phase::Deleting);
        let mut pipeline = Pipeline::open(self)?;
        let mut result = pipeline.delete(self, &set).await;
        let ended = self.ending();
        let passed = checkpoint.filter(|_| ended.is_none() && result.is_ok() && set.refused.is_none());
        let moves = passed.is_some();
        if let Some(checkpoint) = passed {
            result = pipeline.remember(set.id, set.records, checkpoint).await;
        }
        pipeline.close(self).await.and(result)?;
        if moves {
            self.copy.keep_policy(set.id, self.options)?;
        }
        self.report.outcome = ended.unwrap_or(Outcome::Complete);
        set.refused.map_or(Ok(()), Err)
    }

    /// Reads the changes once more, the inventory where no changes are told (D39): a plan of what is new in it, and where that leads.
    async fn look_again(
        &mut self,
        found: &CapabilitySet,
        done: SetRun,
        reached: Checkpoint,
        unexplained: &mut Unexplained,
    ) -> Result<(Checkpoint, SetRun), Error> {
        let mut plan = self.new_plan(done.id, false)?;
        (plan.records, plan.refused) = (done.records, done.refused);
        plan.with(|draft| draft.watch(unexplained.keys().cloned()));
        let changes = Changes::look(self, found, &reached, true).await?;
        let later = if changes.are_offered() {
            changes.read(self, found, &mut plan, reached).await?.0
        } else {
            Inventory::read_newer(self, found, &mut plan).await?;
            reached
        };
        for uri in plan.with(|draft| std::mem::take(&mut draft.explained)) {
            unexplained.remove(&uri);
        }
        self.guard(&mut plan, None)?;
        Ok((later, plan))
    }

    pub(super) fn tell_unexplained(&mut self, unexplained: Unexplained) {
        for (uri, (kind, what)) in unexplained {
            self.failed(kind, &uri, &what);
        }
    }
}
