//! Store and state together: groups of changes that are committed as one, or not at all (invariants 4 and 5).
//!
//! A group in a copy with names: sync staged bytes -> commit the intent, durably -> give and remove names -> sync
//! names -> commit the group (`folder.rs`). In a copy of objects: commit keys, durably -> put objects -> commit the
//! group (`objects.rs`). After a crash at any instant, [`Committer::open`] finds the steps that were done.

mod adding;
mod delivery;
mod folder;
mod foresight;
mod group;
mod objects;
mod options;
mod orphans;
mod places;
mod record;
mod recover;
mod repack;
mod work;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::mpsc;

use crate::{
    changes::ChangeSink,
    clock::now,
    state::{BASE, CopyState, ReadState, StateError, Waits},
    store::{CopyStore, Durability, StoreError},
    web_archive::WebArchive,
};

pub(crate) use options::CommitOptions;
pub(crate) use record::{
    Commit, CommitBatch, Committed, Flushed, NewFile, Recovered, SliceOutcome, Step, StepHook,
};

use group::Group;

/// A failed commit; the next [`Committer::open`] resolves the steps that were done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The state failed.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Commits in groups. It alone writes the state.
pub(crate) struct Committer {
    store: CopyStore,
    state: Box<dyn CopyState>,
    options: CommitOptions,
    group: Group,
    hook: Option<StepHook>,
    sink: Option<Arc<dyn ChangeSink>>,
    /// The time until which a failed sink is not called.
    quiet_until: Option<Instant>,
    /// The base of the paths, until the first group has recorded it.
    base: Option<String>,
    /// Holds the bytes of a group before the group is committed.
    archive: Option<Arc<WebArchive>>,
}

impl std::fmt::Debug for Committer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Committer")
            .field("store", &self.store)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Committer {
    /// Opens a copy: resolves unfinished groups of a crash, then empties staging.
    ///
    /// # Errors
    /// If store or state fail, or the state holds resources and the copy no file at all: an unmounted disk (D35).
    pub(crate) fn open(
        store: impl Into<CopyStore>,
        state: Box<dyn CopyState>,
        options: CommitOptions,
    ) -> Result<(Self, Recovered), CommitError> {
        let mut committer = Self::beside(store, state, options);
        // Before recovery, which would treat an unmounted disk as lost files.
        if !options.accepts_emptied && !committer.state.held_after(None, 1)?.is_empty() {
            committer.store.expect_bytes()?;
        }
        let recovered = committer.recover()?;
        Ok((committer, recovered))
    }

    /// Commits beside the run that has the copy, which handles the remains of crashes.
    pub(crate) fn beside(
        store: impl Into<CopyStore>,
        state: Box<dyn CopyState>,
        options: CommitOptions,
    ) -> Self {
        Self {
            store: store.into(),
            state,
            options,
            group: Group::default(),
            hook: None,
            sink: None,
            quiet_until: None,
            base: None,
            archive: None,
        }
    }

    /// Calls a hook before each step.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_hook(mut self, hook: StepHook) -> Self {
        self.hook = Some(hook);
        self
    }

    /// Passes each change to a sink once it is committed, beginning with undelivered ones of an earlier run.
    #[must_use]
    pub(crate) fn with_sink(mut self, sink: Option<Arc<dyn ChangeSink>>) -> Self {
        self.sink = sink;
        self
    }

    /// Records the base of the paths with the first group, not before: a run that commits nothing decides nothing for
    /// later ones.
    #[must_use]
    pub(crate) fn with_base(mut self, base: Option<String>) -> Self {
        self.base = base;
        self
    }

    /// Waits, before each group, until an archive has stored its exchanges.
    pub(crate) fn archive_first(&mut self, archive: Arc<WebArchive>) {
        self.archive = Some(archive);
    }

    /// The state, to read.
    pub(crate) fn state(&self) -> &dyn ReadState {
        &*self.state
    }

    /// The state, to write records that belong to no group: sets, runs, settings.
    pub(crate) fn state_mut(&mut self) -> &mut dyn CopyState {
        &mut *self.state
    }

    /// Commits everything that is sent until the channel closes, and groups also by their age. Blocks: call it within
    /// a runtime, where blocking is allowed. Commits come in batches: waking this thread costs more than one.
    ///
    /// # Errors
    /// If store or state fail; items left in the channel are then not committed.
    pub(crate) fn run(
        &mut self,
        commits: &mut mpsc::Receiver<CommitBatch>,
        flushed: &mut dyn FnMut(Flushed),
    ) -> Result<(), CommitError> {
        let runtime = tokio::runtime::Handle::current();
        loop {
            let next = match self.due_in() {
                None => commits.blocking_recv(),
                Some(wait) => {
                    match runtime.block_on(async { tokio::time::timeout(wait, commits.recv()).await }) {
                        Ok(next) => next,
                        Err(_) => {
                            flushed(self.flush()?);
                            continue;
                        }
                    }
                }
            };
            let Some(batch) = next else { break };
            self.add_gathered(batch, commits, flushed)?;
        }
        flushed(self.conclude()?);
        Ok(())
    }

    /// Returns how long the group may still wait; `None` while it is empty.
    pub(crate) fn due_in(&self) -> Option<Duration> {
        self.group.since.map(|since| self.group.longest_wait(&self.options).saturating_sub(since.elapsed()))
    }

    /// Commits the group.
    ///
    /// # Errors
    /// If store or state fail. The next [`Committer::open`] resolves the steps that were done.
    pub(crate) fn flush(&mut self) -> Result<Flushed, CommitError> {
        // Taken out first: a group that fails is not tried again by this value, its intent is resolved by the next
        // start.
        let mut work = std::mem::take(&mut self.group).into_work();
        if work.is_empty() {
            return Ok(Flushed::default());
        }
        if work.names_files() {
            // Before the intent, which makes it durable: files that a crash leaves in place have paths by this base.
            self.keep_base()?;
        }
        let mut intent = None;
        if !work.operations.is_empty() {
            if let Some(archive) = &self.archive {
                // Before the intent: held resources are not requested again, so the archive must have them by then.
                archive.keep()?;
            }
            match self.store.clone() {
                CopyStore::Names { names, .. } => intent = Some(self.give_names(&mut work, &names)?),
                CopyStore::Packs(packs) => self.put_objects(&mut work, &packs)?,
            }
        }
        self.step(Step::CommitGroup)?;
        // No wait: if a power failure loses this commit, the intent is still there and has the same information, or the
        // objects are known as begun and go.
        self.state.set_waits(self.waits(Waits::Order))?;
        self.state.commit_group(intent, &work.done(), &work.ledger)?;
        self.step(Step::Discard)?;
        // Last: until the state has the group, recovery may need a removed file to decide if its step was taken.
        match self.store {
            CopyStore::Names { .. } => self.store.staging().discard(&work.leftovers),
            CopyStore::Packs(_) => self.store.staging().recycle(&work.leftovers),
        }
        let mut flushed = work.conclude();
        flushed.untold = self.deliver_changes()?;
        Ok(flushed)
    }

    /// Records the base of the paths, if necessary.
    ///
    /// # Errors
    /// If the state fails.
    pub(crate) fn keep_base(&mut self) -> Result<(), StateError> {
        match self.base.take() {
            Some(base) => self.state.set_setting(BASE, &base),
            None => Ok(()),
        }
    }

    /// Commits the last group, and passes on all remaining changes.
    fn conclude(&mut self) -> Result<Flushed, CommitError> {
        let mut flushed = self.flush()?;
        if flushed.untold.is_none() {
            flushed.untold = self.deliver_changes()?;
        }
        Ok(flushed)
    }

    /// Commits the last group of a run and makes the state durable.
    ///
    /// # Errors
    /// If store or state fail.
    pub(crate) fn finish(&mut self) -> Result<Flushed, CommitError> {
        let flushed = self.conclude()?;
        let packs = self.store.packs().cloned();
        if let Some(packs) = &packs {
            self.repack(packs)?;
        }
        if self.options.durability != Durability::None {
            self.state.make_durable()?;
        }
        if let Some(packs) = &packs {
            self.remove_dead_packs(packs)?;
            // Upkeep: committed groups do not depend on it, and the next run tries again.
            if let Err(error) = self.sweep_orphans(packs, now()) {
                let error = instep_store::error_chain(&error);
                tracing::warn!(error, "objects that no row leads to cannot be looked for");
            }
        }
        Ok(flushed)
    }

    fn step(&self, step: Step) -> Result<(), StoreError> {
        self.hook.as_ref().map_or(Ok(()), |hook| hook(step))
    }

    fn waits(&self, waits: Waits) -> Waits {
        if self.options.durability == Durability::None { Waits::Nothing } else { waits }
    }
}

#[cfg(test)]
mod tests;
