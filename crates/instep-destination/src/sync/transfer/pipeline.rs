use std::time::Duration;

use futures_util::future::OptionFuture;
use resourcesync::Change;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, sleep_until},
};

use super::{Unexplained, settle};
use crate::{
    Error, Event, Item, Letter, ProblemKind,
    commit::{Commit, CommitError, Committer, Flushed},
    fetch::Task,
    http::Validators,
    state::{Action, ActionKind, Checkpoint, DocumentRecord, Facts, SetId, State},
    sync::{run::Run, set::SetRun, wanted::Extra},
};

/// How long what is in flight may take once the run is to end.
const GRACE: Duration = Duration::from_secs(30);

/// Rows of the plan read at a time.
const PAGE: usize = 500;

/// The thread that commits, and the ways to and from it.
pub(super) struct Pipeline {
    commits: mpsc::Sender<Commit>,
    flushed: mpsc::UnboundedReceiver<Flushed>,
    committing: JoinHandle<(Committer, Result<(), CommitError>)>,
}

/// What is known of a resource while it is fetched.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) action: Action,
    /// What is held, where the plan could not tell whether it is current.
    pub(super) held: Option<Facts>,
}

impl Pipeline {
    pub(super) fn open(run: &mut Run<'_>) -> Result<Self, Error> {
        let mut committer = run.copy.lend()?;
        let (commits, mut received) = mpsc::channel(256);
        let (told, flushed) = mpsc::unbounded_channel();
        let committing = tokio::task::spawn_blocking(move || {
            // Nobody listens any more only where the run has ended already.
            let result = committer.run(&mut received, &mut |group| drop(told.send(group)));
            (committer, result)
        });
        Ok(Self { commits, flushed, committing })
    }

    /// Hands something to the thread that commits; why it does not take it, [`Self::close`] tells.
    pub(super) async fn send(&mut self, commit: Commit) -> Result<(), Error> {
        let ended = |_| Error::Task { source: "nothing is committed any more".into() };
        self.commits.send(commit).await.map_err(ended)
    }

    /// Tells what was committed meanwhile.
    pub(super) fn tell_ready(&mut self, run: &mut Run<'_>) {
        while let Ok(group) = self.flushed.try_recv() {
            run.tell_flushed(group);
        }
    }

    /// Commits what is left and ends the thread.
    pub(super) async fn close(mut self, run: &mut Run<'_>) -> Result<(), Error> {
        drop(self.commits);
        while let Some(group) = self.flushed.recv().await {
            run.tell_flushed(group);
        }
        let (committer, result) = self.committing.await?;
        run.copy.take_back(committer);
        Ok(result?)
    }

    /// Fetches what the plan asks for, and hands on what comes of it.
    pub(super) async fn fetch(
        &mut self,
        run: &mut Run<'_>,
        set: &SetRun,
        unexplained: &mut Unexplained,
    ) -> Result<(), Error> {
        let most = run.options.access.transfers.max(1);
        let (sender, tasks) = mpsc::channel(most);
        let (outcomes_in, mut outcomes) = mpsc::channel(most);
        let fetcher = run.fetcher.clone();
        let working = {
            let fetcher = fetcher.clone();
            tokio::spawn(async move { fetcher.run(tasks, outcomes_in).await })
        };
        let shutdown = run.options.shutdown.clone();
        let reader = run.state().reader()?;
        let mut feed =
            Feed { reader, page: Vec::new().into_iter(), after: 0, earlier: run.options.as_of.is_some() };
        let mut sender = Some(sender);
        let mut next = feed.next(set)?;
        let mut deadline = None;
        loop {
            if next.is_none() || run.ending().is_some() {
                sender = None;
            }
            let room = OptionFuture::from(sender.as_ref().map(mpsc::Sender::reserve));
            tokio::select! {
                Some(Ok(room)) = room, if sender.is_some() => {
                    if let Some(task) = next.take() {
                        room.send(task);
                    }
                    next = feed.next(set)?;
                }
                outcome = outcomes.recv() => {
                    let Some((task, outcome)) = outcome else { break };
                    run.progress(fetcher.bytes());
                    if let Some(commit) = settle::settle(run, set.id, task, outcome, unexplained)? {
                        self.send(commit).await?;
                    }
                }
                Some(group) = self.flushed.recv() => run.tell_flushed(group),
                () = shutdown.cancelled(), if deadline.is_none() => deadline = Some(Instant::now() + GRACE),
                Some(()) = OptionFuture::from(deadline.map(sleep_until)), if deadline.is_some() => break,
            }
        }
        working.abort();
        Ok(())
    }

    /// Remembers what was read, and how far that leads (invariant 5).
    pub(super) async fn remember(
        &mut self,
        set: SetId,
        records: Vec<DocumentRecord>,
        checkpoint: Checkpoint,
    ) -> Result<(), Error> {
        for record in records {
            self.send(Commit::Document(record)).await?;
        }
        self.send(Commit::Checkpoint(set, checkpoint)).await
    }

    /// Removes what the plan says is gone, in its order.
    pub(super) async fn delete(&mut self, run: &mut Run<'_>, set: &SetRun) -> Result<(), Error> {
        let mut after = 0;
        loop {
            let page = set.with(|draft| draft.actions().of_kind_after(ActionKind::Delete, after, PAGE))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.sequence;
            for action in page {
                self.send(Commit::Deletion { uri: action.wanted.uri, set: set.id }).await?;
            }
            if run.ending().is_some() {
                return Ok(());
            }
        }
    }
}

/// The plan as tasks, a page at a time.
struct Feed {
    reader: State,
    page: std::vec::IntoIter<Action>,
    after: i64,
    /// Whether versions are wanted that may have been replaced.
    earlier: bool,
}

impl Feed {
    fn next(&mut self, set: &SetRun) -> Result<Option<Task<Pending>>, Error> {
        loop {
            for action in self.page.by_ref() {
                self.after = action.sequence;
                if action.kind != ActionKind::Delete {
                    return self.task(action).map(Some);
                }
            }
            let page = set.with(|draft| draft.actions().after(self.after, PAGE))?;
            if page.is_empty() {
                return Ok(None);
            }
            self.page = page.into_iter();
        }
    }

    fn task(&self, action: Action) -> Result<Task<Pending>, Error> {
        let held = match action.kind {
            ActionKind::Check => self.reader.held(action.wanted.uri.as_str())?.map(|held| held.facts),
            _ => None,
        };
        let extra = Extra::of(&action.wanted);
        let mut task = Task::new(action.wanted.uri.clone(), Pending { action, held });
        let wanted = &task.context.action.wanted;
        task.expected.length = wanted.facts.length;
        task.expected.digests = wanted.facts.digests.clone();
        task.expected.encoding = extra.encoding.map(Into::into);
        let mementos = extra.mementos.iter().filter(|_| self.earlier);
        task.mirrors =
            mementos.chain(&extra.mirrors).filter_map(|uri| resourcesync::Uri::parse(uri).ok()).collect();
        task.held = task.context.held.as_ref().map(validators);
        Ok(task)
    }
}

/// What the server is asked with. Where it gave no ETag, its `Last-Modified` is kept instead: the two are told apart by
/// the quotes.
fn validators(held: &Facts) -> Validators {
    match held.etag.as_deref() {
        Some(etag) if etag.starts_with(['"', 'W']) && etag.ends_with('"') => {
            Validators::new(Some(etag), None)
        }
        time => Validators::new(None, time),
    }
}

impl Run<'_> {
    pub(super) fn progress(&mut self, bytes: u64) {
        let more = bytes.saturating_sub(self.fetched);
        self.fetched = bytes;
        self.report.bytes += more;
        if more > 0 {
            self.monitor.event(Event::Progress { bytes: more });
        }
    }

    /// Tells what is committed now.
    fn tell_flushed(&mut self, group: Flushed) {
        for done in group.committed {
            let letter = match done.change {
                Change::Created => Letter::New,
                Change::Deleted => Letter::Gone,
                _ => Letter::Changed,
            };
            match letter {
                Letter::New => self.report.created += 1,
                Letter::Gone => self.report.deleted += 1,
                _ => self.report.updated += 1,
            }
            self.monitor.event(Event::Committed(Item::new(letter, done.uri.as_str(), Some(done.length))));
        }
        for (uri, error) in group.refused {
            self.failed(ProblemKind::Storage, uri.as_str(), &crate::error::story(&error));
        }
    }
}
