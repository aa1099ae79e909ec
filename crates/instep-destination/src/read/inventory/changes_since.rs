//! The changes that are listed since an inventory, and the coverage of both.

use super::Inventory;
use crate::{
    Error, ProblemKind,
    discover::CapabilitySet,
    draft::Draft,
    error::error_chain,
    plan::{Coverage, Reach},
    read::{Changes, LostDocument, ReadChanges, Unchanged},
    run::{SetRun, SyncRun},
    state::Checkpoint,
};

impl Inventory {
    /// Folds the changes listed since the inventory over the plan, even if they do not reach back to it: listed
    /// changes are applied, and the set's coverage records the gap. `held` is the former progress of the copy.
    pub(crate) async fn followed_by_changes(
        &self,
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
        held: Option<&Checkpoint>,
    ) -> Result<ReadChanges, Error> {
        set.work(Draft::settle_repeated).await?;
        run.reporter.problems_of(set);
        let begins_anew = self.at.is_none() && run.may_have_kept_undated(set.id)?;
        let checkpoint = self.checkpoint(held.filter(|_| !begins_anew));
        if let Some((at, as_of)) = self.at.zip(run.options.as_of)
            && at.instant() >= as_of.end()
        {
            return self.taken_back(run, found, set, at, as_of).await;
        }
        self.note_time(found, set);
        let changes = match Changes::look(run, found, &checkpoint, Unchanged::Read).await?.or_lost() {
            Err(error) if error.loses_document() => {
                return Ok(self.without_changes(run, set, checkpoint, &error));
            }
            changes => changes?,
        };
        let reach = changes.reach();
        self.note_reach(run, set, reach);
        if run.options.as_of.is_some() {
            let later = run.copy.new_actions()?;
            set.with(|draft| draft.watch_later_changes(later));
        }
        if self.at.is_none() {
            set.work(Draft::take_unnamed_from_limit).await?;
        }
        let is_lost = found.offers_changes() && !changes.are_offered();
        let has_read_before = self.at.is_none() && held.is_some();
        let lost = if has_read_before && run.may_have_left_out(set.id)? {
            Self::seek_left_out(run, found, set).await?
        } else {
            Vec::new()
        };
        let mut read = changes.read(run, found, set, checkpoint.clone()).await?;
        if read.seam.is_some() {
            self.note_reach(run, set, reach.map(|first| read.reach(first)));
        }
        read.complete &= !is_lost;
        read.lost.extend(lost);
        run.reporter.lost_documents(&read.lost);
        if let (Some(Coverage::Complete { .. }), reached) = (set.coverage, read.checkpoint.datetime) {
            set.coverage = Some(Coverage::Complete { at: reached });
        }
        let Some(as_of) = run.options.as_of else { return Ok(read) };
        set.work(Draft::refuse_unproven).await?;
        run.reporter.problems_of(set);
        // Entries after that time were not applied, so the next run must read the documents again.
        set.records.clear();
        Ok(ReadChanges { checkpoint: Checkpoint { datetime: Some(as_of), ..checkpoint }, ..read })
    }

    /// Returns the checkpoint from which changes are read. An inventory without a time gives only its URI, with the
    /// time up to which earlier runs have read changes.
    fn checkpoint(&self, held: Option<&Checkpoint>) -> Checkpoint {
        let mut checkpoint = Checkpoint::new();
        checkpoint.datetime = self.at;
        checkpoint.newest = self.at;
        if self.at.is_none() {
            checkpoint.document = Some(self.uri.clone());
            checkpoint.datetime = held.and_then(|held| held.datetime);
        }
        checkpoint
    }

    /// Records its time, because the next inventory is later even if it states no time.
    fn note_time(&self, found: &CapabilitySet, set: &SetRun) {
        if let Some(at) = self.at.filter(|_| self.is_first_choice(found)) {
            set.with(|draft| draft.history.meet_gap(at));
        }
    }

    /// Sets the coverage by how far back the listed changes reach, and reports a gap.
    fn note_reach(&self, run: &mut SyncRun<'_>, set: &mut SetRun, reach: Option<Reach>) {
        if let (None, Some(Reach::Gap { earliest })) = (self.at, reach) {
            set.with(|draft| draft.history.meet_gap(earliest));
        }
        // The listed changes may all be older than a list without a time.
        let reach = if self.at.is_some() { reach } else { reach.map(|_| Reach::Unknown) };
        set.coverage = Some(Coverage::of_inventory(self.at, reach));
        match reach {
            Some(Reach::Gap { earliest }) => run.reporter.note(&format!(
                "a gap: the listed changes begin at {earliest}, after the inventory; those that are listed are applied"
            )),
            Some(Reach::Unknown) => run
                .reporter
                .note("the lists do not say whether their changes reach back to the inventory: they are applied"),
            _ => {}
        }
    }

    /// Folds the changes from before the checkpoint over the plan too. An earlier selection, limit or scope left them
    /// out, and an inventory without a time may be older than they are. Changes that the copy already has are skipped.
    async fn seek_left_out(
        run: &mut SyncRun<'_>,
        found: &CapabilitySet,
        set: &mut SetRun,
    ) -> Result<Vec<LostDocument>, Error> {
        let all = Changes::look(run, found, &Checkpoint::new(), Unchanged::Read).await?;
        let records = set.records.len();
        set.with(|draft| draft.seeks_left_out = true);
        let read = all.read(run, found, set, Checkpoint::new()).await;
        set.with(|draft| draft.seeks_left_out = false);
        // These documents are not recorded here, but by the reading that moves the checkpoint.
        set.records.truncate(records);
        Ok(read?.lost)
    }

    /// Applies the inventory alone: a lost list does not prevent that (invariant 10, B11).
    fn without_changes(
        &self,
        run: &mut SyncRun<'_>,
        set: &mut SetRun,
        checkpoint: Checkpoint,
        error: &Error,
    ) -> ReadChanges {
        let what = format!(
            "the changes since then are lost, so that the copy may be behind: {}",
            error_chain(error)
        );
        run.reporter.problem(ProblemKind::Document, self.uri.as_str(), &what);
        set.coverage = Some(Coverage::Unknown);
        ReadChanges { complete: false, ..ReadChanges::without_packages(run, checkpoint) }
    }
}
