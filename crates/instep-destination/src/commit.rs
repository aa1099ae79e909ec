//! Store and state together: groups of changes that are committed as one, or not at all (invariants 4 and 5). Nothing
//! is fetched or decided here.
//!
//! A group in a copy with names: sync staged bytes -> commit the intent, durably -> give and remove names -> sync
//! names -> commit the group (`folder.rs`). In a copy of objects: commit keys, durably -> put objects -> commit the
//! group (`objects.rs`). After a crash at any instant, [`Committer::open`] finds the steps that were done.

mod adding;
mod delivery;
mod emptied;
mod error;
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

pub(crate) use emptied::check_is_there;
pub(crate) use error::CommitError;
pub(crate) use options::CommitOptions;
pub(crate) use record::{
    Commit, CommitBatch, Committed, Flushed, NewFile, Recovered, SliceOutcome, Step, StepHook,
};

use group::Group;

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
    /// Opens a copy: resolves the groups that a crash left unfinished, then empties staging.
    ///
    /// # Errors
    /// If store or state fail, or if the state holds resources and the copy has no file at all, as when a disk is not
    /// mounted (D35).
    pub(crate) fn open(
        store: impl Into<CopyStore>,
        state: Box<dyn CopyState>,
        options: CommitOptions,
    ) -> Result<(Self, Recovered), CommitError> {
        let mut committer = Self::beside(store, state, options);
        // Checked before recovery, which would treat the files of an unmounted disk as lost.
        if !options.accepts_emptied {
            check_is_there(&committer.store, &*committer.state)?;
        }
        let recovered = committer.recover()?;
        Ok((committer, recovered))
    }

    /// Opens a copy beside the run that has it. Only that run handles the remains of crashes.
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

    /// Sets a hook that is called before each step.
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

    /// Returns the state for reading.
    pub(crate) fn state(&self) -> &dyn ReadState {
        &*self.state
    }

    /// Returns the state for writing records that belong to no group: sets, runs, settings.
    pub(crate) fn state_mut(&mut self) -> &mut dyn CopyState {
        &mut *self.state
    }

    /// Commits everything that is sent until the channel closes. A group is also committed when it reaches its greatest
    /// age. It blocks: call it within a runtime, on a thread that may block. Commits arrive in batches, because waking
    /// this thread costs more than a commit.
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
                // Also if more has arrived: at full speed there is always more, and the group would wait until it is full.
                Some(wait) if wait.is_zero() => {
                    flushed(self.flush()?);
                    continue;
                }
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

    /// Returns the time that the group may still wait; `None` if it is empty.
    pub(crate) fn due_in(&self) -> Option<Duration> {
        self.group.due_in(0, &self.options)
    }

    /// Commits the group.
    ///
    /// # Errors
    /// If store or state fail. The next [`Committer::open`] resolves the steps that were done.
    pub(crate) fn flush(&mut self) -> Result<Flushed, CommitError> {
        // The group is taken out first: if it fails it is not tried again by this value, because its intent is resolved
        // by the next start.
        let mut work = self.group.take().into_work();
        if work.is_empty() {
            return Ok(Flushed::default());
        }
        if work.names_files() {
            // The base is recorded before the intent, which makes it durable: files that a crash leaves in place have
            // paths relative to this base.
            self.keep_base()?;
        }
        let mut intent = None;
        if !work.operations.is_empty() {
            if let Some(archive) = &self.archive {
                // The archive stores its exchanges before the intent: held resources are not requested again, so the
                // archive must have them by then.
                archive.keep()?;
            }
            match self.store.clone() {
                CopyStore::Names { names, .. } => intent = Some(self.give_names(&mut work, &names)?),
                CopyStore::Packs(packs) => self.put_objects(&mut work, &packs)?,
            }
        }
        self.step(Step::CommitGroup)?;
        // This commit does not wait for the disk. If a power failure loses it, the intent is still there and has the
        // same information; in a copy of objects, the keys are still recorded as begun, and the next start removes the
        // objects.
        self.state.set_waits(self.waits(Waits::Order))?;
        self.state.commit_group(intent, &work.done(), &work.ledger)?;
        self.step(Step::Discard)?;
        // Removed files are discarded last: until the state has the group, recovery may need one to decide if its step
        // was taken.
        match self.store {
            CopyStore::Names { .. } => self.store.staging().discard(&work.leftovers),
            CopyStore::Packs(_) => self.store.staging().recycle(&work.leftovers),
        }
        let mut flushed = work.conclude();
        flushed.undelivered = self.deliver_changes()?;
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
        if flushed.undelivered.is_none() {
            flushed.undelivered = self.deliver_changes()?;
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
            // A failure is only logged: no committed group depends on this, and the next run tries it again.
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
