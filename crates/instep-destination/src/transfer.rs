//! Transfers: carry out a plan. Its actions become verified arrivals, which are committed in groups. Deletions come
//! last, and the checkpoint moves with the last group.

mod adopt;
mod batches;
mod carrier;
mod conclusion;
mod doubtful;
mod early;
mod feed;
pub(crate) mod fetch;
mod fit;
mod lacked_members;
mod linked_versions;
pub(crate) mod package;
mod patches;
mod pipeline;
mod rehash;
mod requests;
mod settle;
mod sharing;
mod slice_feed;
mod unexplained;
mod unpack;
mod versions;

use resourcesync::{Capability, Uri};

use crate::{
    Error, Event, Phase, Problem,
    discover::CapabilitySet,
    plan::Reach,
    read::{Changes, Inventory, Unchanged},
    records::DocumentNote,
    run::{SetRun, SyncRun, TransferTally},
    state::{Checkpoint, PlanNote},
};
pub(crate) use batches::BatchEndpoint;
pub(crate) use carrier::Carrier;
use feed::PlanFeed;
use pipeline::{PAGE, Pipeline};
use slice_feed::SliceFeed;
pub(crate) use unexplained::Unexplained;

/// The number of times that changes are read again to explain resources that do not match their entries.
const ROUNDS: usize = 3;

impl Pipeline {
    /// Carries out the actions that need no request, and those whose bytes come with a carrier.
    async fn begin(&mut self, run: &mut SyncRun<'_>, set: &SetRun, carrier: Carrier) -> Result<(), Error> {
        self.owe(set).await?;
        self.settle(set).await?;
        self.note(run, set).await?;
        self.keep_versions(run, set).await?;
        if run.options.adopt {
            self.adopt(run, set).await?;
        }
        self.rehash(run, set).await?;
        self.bring(run, set, carrier).await
    }
}

impl SyncRun<'_> {
    /// Carries out a plan. The checkpoint moves only when every action is committed or pending.
    pub(crate) async fn carry_out(
        &mut self,
        found: &CapabilitySet,
        mut set: SetRun,
        mut checkpoint: Option<Checkpoint>,
        carrier: Carrier,
    ) -> Result<(), Error> {
        let mut unexplained = Unexplained::new();
        if self.options.as_of.is_some() {
            self.copy.keep_past_state(set.id, self.options)?;
        }
        self.tally = TransferTally { planned: set.with(|draft| draft.count_actions()), done: 0 };
        if self.needs_space_first(&set)? {
            self.reporter.note("there is not enough space for the new files: deletions are done first");
            self.delete(&mut set).await?;
        }
        self.fetch(&set, carrier, &mut unexplained).await?;
        // Changes after the requested time explain nothing about it, and the checkpoint must not pass them.
        let rounds = if self.options.as_of.is_some() { 0 } else { ROUNDS };
        for _ in 0..rounds {
            let Some(reached) = &checkpoint else { break };
            if unexplained.is_empty() || self.ending().is_some() {
                break;
            }
            let reached = reached.clone();
            // Deletions come before the changes are read, which may create resources again that this plan deletes.
            self.delete(&mut set).await?;
            self.tally.done += set.with(|draft| draft.repeated);
            let (later, plan) = self.look_again(found, set, reached, &mut unexplained).await?;
            let news = plan.new_documents;
            self.tally.planned += plan.with(|draft| draft.count_actions());
            (set, checkpoint) = (plan, Some(later));
            if !news {
                break;
            }
            self.reporter.monitor.event(Event::Planned(set.with(|draft| draft.totals())));
            self.fetch(&set, Carrier::Requests, &mut unexplained).await?;
        }
        self.report_unexplained(unexplained);
        if self.ending().is_none() {
            self.fetch_versions(&set).await?;
        }
        if std::mem::take(&mut self.lacks_versions) {
            checkpoint = None;
        }
        if std::mem::take(&mut self.reporter.has_unplaced) {
            self.read_dump_again(found, &mut set)?;
        }
        self.conclude(set, checkpoint).await
    }

    /// Lets the next run read a dump again that is the only inventory of a set: the resources that could not be placed may be
    /// nowhere else (O1012).
    fn read_dump_again(&self, found: &CapabilitySet, set: &mut SetRun) -> Result<(), Error> {
        let dump = found.get(&Capability::ResourceDump);
        let Some(dump) = dump.filter(|_| found.get(&Capability::ResourceList).is_none()) else {
            return Ok(());
        };
        for record in set.records.iter_mut().filter(|record| record.uri == dump.uri) {
            let note = DocumentNote::read(self.state(), record)?;
            DocumentNote { listing: Some(DocumentNote::NO_LISTING), ..note }.write(self.state(), record)?;
        }
        Ok(())
    }

    /// Carries out a plan that has only pending retries. The checkpoint stays.
    pub(crate) async fn retry(&mut self, set: SetRun) -> Result<(), Error> {
        let mut unexplained = Unexplained::new();
        self.tally = TransferTally { planned: set.with(|draft| draft.count_actions()), done: 0 };
        self.fetch(&set, Carrier::Requests, &mut unexplained).await?;
        self.report_unexplained(unexplained);
        self.conclude(set, None).await
    }

    /// Fetches the resources of a plan.
    pub(crate) async fn fetch(
        &mut self,
        set: &SetRun,
        carrier: Carrier,
        unexplained: &mut Unexplained,
    ) -> Result<(), Error> {
        self.reporter.enter(Phase::Fetching);
        self.join(set)?;
        let mut pipeline = Pipeline::open(self)?;
        let mut result = pipeline.begin(self, set, carrier).await;
        if result.is_ok() && self.may_share(set) {
            pipeline.close(self).await?;
            let board = self.share(set)?;
            pipeline = Pipeline::open(self)?;
            if let Some(board) = board {
                let mut feed = SliceFeed::of_all(self, board, unexplained);
                result = pipeline.fetch(self, set.id, &mut feed).await;
            }
        }
        if result.is_ok() {
            let mut feed = PlanFeed::new(self, set, unexplained);
            result = pipeline.fetch(self, set.id, &mut feed).await;
        }
        pipeline.close(self).await.and(result)
    }

    /// Fetches the resources of slices of a plan that another run has sealed.
    #[cfg(feature = "postgres")]
    pub(crate) async fn fetch_slices(
        &mut self,
        set: crate::state::SetId,
        board: Box<dyn crate::state::SliceBoard>,
    ) -> Result<(), Error> {
        let mut feed = SliceFeed::of_share(self, board);
        let mut pipeline = Pipeline::open(self)?;
        let result = pipeline.fetch(self, set, &mut feed).await;
        pipeline.close(self).await.and(result)
    }

    /// Records that held resources belong to this set too, because it names them.
    pub(crate) fn join(&mut self, set: &SetRun) -> Result<(), Error> {
        let mut after = 0;
        loop {
            let page = set.with(|draft| draft.actions().notes_after(PlanNote::Joins, after, PAGE))?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = *last;
            let uris: Vec<_> = page.iter().filter_map(|(_, uri)| Uri::parse(uri).ok()).collect();
            self.copy.state_mut()?.join(set.id, &uris)?;
        }
    }

    /// Returns `true` if the plan's deletions must come first: the disk has no space for its resources, and documents
    /// name the deletions (B19). Deletions inferred from absence still come last; and if versions are kept, a deletion
    /// frees nothing.
    fn needs_space_first(&self, set: &SetRun) -> Result<bool, Error> {
        let (totals, inferred) = set.with(|draft| (draft.totals(), draft.inventory.inferred));
        if totals.deletions == 0 || inferred > 0 || self.versions.is_some() {
            return Ok(false);
        }
        Ok(self.copy.store.room()?.is_some_and(|free| totals.bytes > free))
    }

    /// Carries out the deletions of a plan, once.
    async fn delete(&mut self, set: &mut SetRun) -> Result<(), Error> {
        if std::mem::replace(&mut set.has_deleted, true) {
            return Ok(());
        }
        self.reporter.enter(Phase::Deleting);
        let keeps = self.expect_held_though_gone(set)?;
        let mut pipeline = Pipeline::open(self)?;
        let result = pipeline.delete(self, set).await;
        pipeline.close(self).await.and(result)?;
        self.settle_held_though_gone(set, keeps)
    }

    /// Reads the changes again, or the inventory if there are none (D39). Returns the checkpoint after the new entries,
    /// and their plan.
    async fn look_again(
        &mut self,
        found: &CapabilitySet,
        mut done: SetRun,
        reached: Checkpoint,
        unexplained: &mut Unexplained,
    ) -> Result<(Checkpoint, SetRun), Error> {
        let mut plan = self.new_plan_without_pending(done.id)?;
        (plan.records, plan.refused) = (std::mem::take(&mut done.records), done.refused.take());
        (plan.coverage, plan.inventory, plan.kept) = (done.coverage, done.inventory, done.kept);
        plan.last_gap_end = done.last_gap_end;
        plan.unusable = done.unusable.take();
        done.pass_damaged_to(&plan);
        plan.with(|draft| draft.awaited.add(unexplained.keys().cloned()));
        let changes = Changes::look(self, found, &reached, Unchanged::Read).await?;
        let later = if changes.are_offered() {
            let (reach, records) = (changes.reach(), plan.records.len());
            let read = changes.read(self, found, &mut plan, reached.clone()).await?;
            self.reporter.lost_documents(&read.lost);
            let has_gap = reach.is_some_and(|first| matches!(read.reach(first), Reach::Gap { .. }));
            let met = plan.with(|draft| draft.met);
            let chooses_anew = met.record && found.has_inventory();
            if has_gap || met.are_contradictory() || chooses_anew {
                // Changes left the lists or the lists were written anew while resources were fetched, or metadata records
                // changed: the next run has to find that (O458, O657, O658, O966).
                plan.records.truncate(records);
                reached
            } else {
                read.checkpoint
            }
        } else {
            Inventory::read_newer(self, found, &mut plan).await?;
            reached
        };
        for uri in plan.with(|draft| std::mem::take(&mut draft.awaited.explained)) {
            unexplained.remove(&uri);
        }
        self.choose_by_metadata(&plan).await?;
        plan.with(|draft| draft.check_account())?;
        let before = plan.kept;
        let (entries, kept) = plan.with(|draft| (draft.account, draft.kept(|| Ok(before), false)));
        plan.kept = kept?;
        done.pass_returned_to(&plan)?;
        done.pass_links_to(&plan)?;
        let report = &mut self.reporter.report;
        report.entries.add(&entries);
        report.kept = (report.kept + plan.kept.all).saturating_sub(before.all);
        self.add_unusable(&mut plan)?;
        self.guard(&mut plan, None)?;
        Ok((later, plan))
    }

    pub(crate) fn report_unexplained(&mut self, unexplained: Unexplained) {
        for (uri, (kind, what)) in unexplained {
            self.reporter.failed(Problem::new(kind, &uri, &what));
        }
    }
}
