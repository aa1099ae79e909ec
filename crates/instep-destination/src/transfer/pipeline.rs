//! The pipeline of a transfer: the thread that commits, and the channels to and from it.

use std::sync::Arc;

use resourcesync::Uri;
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
};

use crate::{
    Error, Event,
    commit::{Commit, CommitBatch, CommitError, Committer, Flushed},
    run::{SetRun, SyncRun, is_outcome},
    state::{Action, ActionKind, Checkpoint, DocumentRecord, Owed, PlanNote, SetId, Setting},
};

/// The number of rows of the plan that are read at a time.
pub(super) const PAGE: usize = 500;

/// The most batches that wait while a group is committed: enough that senders rarely wait, and bounded even with a slow
/// disk.
const BATCHES: usize = 128;
/// The most commits in these batches, by their weight.
const ROOM: usize = 4_096;

/// The thread that commits, and the channels to and from it.
pub(super) struct Pipeline {
    commits: mpsc::Sender<CommitBatch>,
    room: Arc<Semaphore>,
    pub(super) flushed: mpsc::UnboundedReceiver<Flushed>,
    committing: JoinHandle<(Committer, Result<(), CommitError>)>,
    /// The number of actions that have an outcome.
    pub(super) done: u64,
}

impl Pipeline {
    /// Lends the committer of the copy to a separate thread.
    pub(super) fn open(run: &mut SyncRun<'_>) -> Result<Self, Error> {
        let mut committer = run.copy.lend()?;
        let (commits, mut received) = mpsc::channel(BATCHES);
        let (reports, flushed) = mpsc::unbounded_channel();
        let committing = tokio::task::spawn_blocking(move || {
            // Ignores a missing receiver: the run has ended then.
            let result = committer.run(&mut received, &mut |group| drop(reports.send(group)));
            (committer, result)
        });
        Ok(Self { commits, room: Arc::new(Semaphore::new(ROOM)), flushed, committing, done: 0 })
    }

    /// Sends a commit to the thread that commits. If that has failed, [`Self::close`] returns the reason.
    pub(super) async fn send(&mut self, commit: Commit) -> Result<(), Error> {
        self.send_all(vec![commit]).await
    }

    /// Sends several commits, in their order.
    pub(super) async fn send_all(&mut self, commits: Vec<Commit>) -> Result<(), Error> {
        let ended = || Error::Task { source: "nothing is committed any more".into() };
        if commits.is_empty() {
            return Ok(());
        }
        self.done += commits.iter().filter(|commit| is_outcome(commit)).count() as u64;
        let weight: usize = commits.iter().map(Commit::weight).sum();
        let places = u32::try_from(weight.min(ROOM)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(places).await.map_err(|_| ended())?;
        self.commits.send(CommitBatch { commits, _room: room }).await.map_err(|_| ended())
    }

    /// Records pending resources that were not tried.
    pub(super) async fn owe(&mut self, set: &SetRun) -> Result<(), Error> {
        let mut after = 0;
        loop {
            let page = set.with(|draft| draft.actions().of_kind_after(ActionKind::Owe, after, PAGE))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.sequence;
            let owed = |Action { sequence, desired, .. }| {
                let why = set.with(|draft| draft.actions().fault_of(sequence))?;
                Ok(Commit::Owed(set.id, Owed::new(desired, why)))
            };
            self.send_all(page.into_iter().map(owed).collect::<Result<_, Error>>()?).await?;
        }
    }

    /// Reports the changes committed since the last call.
    pub(super) fn report_committed(&mut self, run: &mut SyncRun<'_>) {
        while let Ok(group) = self.flushed.try_recv() {
            run.reporter.committed(group);
        }
    }

    /// Commits the rest and ends the thread.
    pub(super) async fn close(mut self, run: &mut SyncRun<'_>) -> Result<(), Error> {
        drop(self.commits);
        run.tally.done += self.done;
        while let Some(group) = self.flushed.recv().await {
            run.reporter.committed(group);
        }
        let (committer, result) = self.committing.await?;
        run.copy.take_back(committer);
        Ok(result?)
    }

    /// Records the documents that were read, then the new checkpoint together with the settings that hold as of it
    /// (invariant 5).
    pub(super) async fn remember(
        &mut self,
        set: SetId,
        records: Vec<DocumentRecord>,
        checkpoint: Checkpoint,
        settings: Vec<Setting>,
    ) -> Result<(), Error> {
        for record in records {
            self.send(Commit::Document(record)).await?;
        }
        self.send(Commit::Checkpoint { set, checkpoint, settings }).await
    }

    /// Records the resources that are no longer pending.
    pub(super) async fn settle(&mut self, set: &SetRun) -> Result<(), Error> {
        self.send_noted(set, PlanNote::Settled, Commit::Settled).await
    }

    /// Forgets the deletions of resources that exist again. It comes with the checkpoint, because until then the next
    /// run reads of these deletions again.
    pub(super) async fn forget_deletions(&mut self, set: &SetRun) -> Result<(), Error> {
        self.send_noted(set, PlanNote::Returned, Commit::Returned).await
    }

    async fn send_noted(
        &mut self,
        set: &SetRun,
        note: PlanNote,
        commit: fn(SetId, Uri) -> Commit,
    ) -> Result<(), Error> {
        let mut after = 0;
        loop {
            let page = set.with(|draft| draft.actions().notes_after(note, after, PAGE))?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = *last;
            let uris = page.iter().filter_map(|(_, uri)| Uri::parse(uri).ok());
            self.send_all(uris.map(|uri| commit(set.id, uri)).collect()).await?;
        }
    }

    /// Records the new links of resources whose bytes are current.
    pub(super) async fn note(&mut self, run: &SyncRun<'_>, set: &SetRun) -> Result<(), Error> {
        if set.with(|draft| draft.actions().count_of(ActionKind::Note)) == 0 {
            return Ok(());
        }
        let reader = run.state().reader()?;
        let mut after = 0;
        loop {
            let page = set.with(|draft| draft.actions().of_kind_after(ActionKind::Note, after, PAGE))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.sequence;
            let mut commits = Vec::with_capacity(page.len());
            for Action { desired, .. } in page {
                let held = reader.held(desired.uri.as_str())?;
                if let Some(path) = held.as_ref().map(|held| held.path.as_str()) {
                    run.reporter.monitor.event(Event::Noted { uri: desired.uri.as_str(), path });
                }
                commits.push(Commit::Noted { uri: desired.uri, metadata: desired.metadata, set: set.id });
            }
            self.send_all(commits).await?;
        }
    }

    /// Carries out the deletions of the plan, in its order. Deletions of resources that stay are only recorded, and all
    /// of them if the guard refuses them: the next run may find no list that names them.
    pub(super) async fn delete(&mut self, run: &mut SyncRun<'_>, set: &SetRun) -> Result<(), Error> {
        let is_refused = set.refused.is_some();
        let given_up = if is_refused { None } else { Some(ActionKind::Leave) };
        for kind in [ActionKind::Keep].into_iter().chain(given_up).chain([ActionKind::Delete]) {
            // A run that is ending may not have kept all versions of what the plan removes.
            if kind == ActionKind::Delete && run.versions.is_some() && run.ending().is_some() {
                return Ok(());
            }
            let mut after = 0;
            loop {
                let page = set.with(|draft| draft.actions().of_kind_after(kind, after, PAGE))?;
                let Some(last) = page.last() else { break };
                after = last.sequence;
                let deletion = |Action { desired, .. }: Action| {
                    let (uri, datetime) = (desired.uri, desired.metadata.datetime);
                    match kind {
                        // The resource did not exist at the time of the inventory either, and earlier deletions are
                        // forgotten with the inventory.
                        ActionKind::Keep => {
                            let datetime =
                                datetime.map(|deleted| set.inventory.map_or(deleted, |at| at.max(deleted)));
                            Commit::Kept { uri, set: set.id, datetime }
                        }
                        _ if is_refused => Commit::Kept { uri, set: set.id, datetime },
                        _ => Commit::Deletion { uri, set: set.id, datetime },
                    }
                };
                self.send_all(page.into_iter().map(deletion).collect()).await?;
                // Here and not at the end, where the reports of all groups would be in memory.
                self.report_committed(run);
                if run.ending().is_some() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
