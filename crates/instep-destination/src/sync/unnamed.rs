//! Sets that the Source does not name any more, because it renamed, merged or withdrew them.

use crate::{
    Error,
    discover::{CapabilitySet, Discovered},
    plan::Coverage,
    run::{SyncRun, UnnamedSet},
    state::{Checkpoint, HeldResource, Ledger, SetId},
};

/// The number of rows that are read, and of resources that leave a set in one transaction.
const PAGE: usize = 1_024;

impl SyncRun<'_> {
    /// Does and reports all that is left to do for sets that the Source does not name any more.
    pub(super) async fn settle_unnamed_sets(&mut self, source: &Discovered) -> Result<(), Error> {
        self.retry_unnamed_sets(source).await?;
        self.release_shared(source)?;
        self.forget_ended_sets(source)?;
        self.note_unnamed_sets(source).map(|_| ())
    }

    /// Removes the checkpoints of sets that the Source no longer names and of which nothing is left: otherwise the copy
    /// would seem to lag behind, by the time since they ended (O793).
    fn forget_ended_sets(&mut self, source: &Discovered) -> Result<(), Error> {
        if self.options.dry_run {
            return Ok(());
        }
        for set in self.copy.ended_sets(source)? {
            self.write(Ledger { checkpoints: [(set, Checkpoint::new())].into(), ..Ledger::default() })?;
        }
        Ok(())
    }

    /// Removes resources from sets that the Source no longer names, if a set that it names has them too. Otherwise they
    /// would stay forever after the Source deletes them, and the copy of a Source that renamed its sets would never be
    /// in step again (O416). Resources that no other set has stay.
    fn release_shared(&mut self, source: &Discovered) -> Result<(), Error> {
        let unnamed = self.copy.unnamed_sets(source)?;
        if unnamed.is_empty() || self.options.dry_run {
            return Ok(());
        }
        let named = self.sets_in_force(&source.sets)?;
        for UnnamedSet { id, name, held, .. } in unnamed {
            let all: Vec<_> = named.iter().copied().chain([id]).collect();
            if self.state().held_in(&named)? + held <= self.state().held_in(&all)? {
                continue;
            }
            self.date_pending(id)?;
            // The checkpoint is removed first: if the Source names the set again, all of it is compared.
            self.write(Ledger { checkpoints: [(id, Checkpoint::new())].into(), ..Ledger::default() })?;
            let released = self.release(id, &named)?;
            self.reporter.note(&format!(
                "the Source does not name {name} any more: {released} resources of it are in other sets, which decide about them"
            ));
        }
        Ok(())
    }

    /// Gives the pending retries of a set the time that the set has reached, because its checkpoint is removed: that time
    /// shows if another set has described a resource since (O44).
    fn date_pending(&mut self, set: SetId) -> Result<(), Error> {
        let reached = self.state().checkpoint(set)?.and_then(|checkpoint| checkpoint.datetime);
        if reached.is_none() {
            return Ok(());
        }
        let mut after: Option<String> = None;
        loop {
            let page = self.state().owed_after(set, after.as_deref(), PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.desired.uri.as_str().to_owned());
            let mut ledger = Ledger::default();
            for mut owed in page {
                owed.desired.metadata.datetime = owed.desired.metadata.datetime.max(reached);
                ledger.owe(set, owed);
            }
            self.write(ledger)?;
        }
    }

    /// Returns the sets that the Source names and whose state the copy knows completely.
    fn sets_in_force(&self, named: &[CapabilitySet]) -> Result<Vec<SetId>, Error> {
        let mut in_force = Vec::new();
        for found in named {
            // A set beyond those that a copy can follow has no number.
            let Some(id) = self.state().known_set(found.name())? else { continue };
            if self.copy.coverage(id)?.is_complete() && self.state().checkpoint(id)?.is_some() {
                in_force.push(id);
            }
        }
        Ok(in_force)
    }

    fn release(&mut self, set: SetId, named: &[SetId]) -> Result<u64, Error> {
        let (mut after, mut released) = (None, 0);
        loop {
            let page = self.state().held_after(after.as_deref(), PAGE)?;
            let Some(last) = page.last() else { return Ok(released) };
            after = Some(last.uri.as_str().to_owned());
            let is_shared = |held: &HeldResource| {
                held.sets != HeldResource::SETS_UNKNOWN
                    && held.is_in(set)
                    && named.iter().any(|other| held.is_in(*other))
            };
            let left: Vec<_> = page.into_iter().filter(is_shared).map(|held| (held.uri, set)).collect();
            released += left.len() as u64;
            if !left.is_empty() {
                self.write(Ledger { left, ..Ledger::default() })?;
            }
        }
    }

    fn write(&mut self, ledger: Ledger) -> Result<(), Error> {
        Ok(self.copy.state_mut()?.commit_group(None, &[], &ledger)?)
    }

    /// Reports the sets that the Source no longer names. Their held resources stay, because nothing states that they
    /// were deleted (O29).
    pub(crate) fn note_unnamed_sets(&mut self, source: &Discovered) -> Result<u64, Error> {
        let mut left = 0;
        for UnnamedSet { name, held, .. } in self.copy.unnamed_sets(source)? {
            self.reporter.note(&format!(
                "the Source does not name {name} any more: {held} resources of it stay as they are"
            ));
            self.reporter.report.coverage = Some(Coverage::Unknown);
            left += held;
        }
        Ok(left)
    }

    /// Retries pending resources of sets that the Source no longer names, because they may still exist (O43).
    async fn retry_unnamed_sets(&mut self, source: &Discovered) -> Result<(), Error> {
        for unnamed in self.copy.unnamed_sets(source)? {
            if !unnamed.is_pending || self.ending().is_some() {
                continue;
            }
            let mut set = self.new_plan(unnamed.id)?;
            self.guard(&mut set, None)?;
            self.account_for(&mut set, None)?;
            if self.options.dry_run { self.itemize_plan(&set)? } else { self.retry(set).await? }
        }
        Ok(())
    }
}
