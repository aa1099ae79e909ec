use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::future::OptionFuture;
use resourcesync::{Change, DateTime, Uri};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{Unexplained, settle};
use crate::{
    Error, Event, Item, Letter, ProblemKind,
    commit::{Bunch, Commit, CommitError, Committer, Flushed},
    fetch::Task,
    http::{Origin, Validators},
    state::{Action, ActionKind, Checkpoint, DocumentRecord, Facts, SetId, State},
    sync::{run::Run, set::SetRun, wanted::Extra},
};

/// How long what is in flight may take once the run is to end.
const GRACE: Duration = Duration::from_secs(30);

/// Rows of the plan read at a time.
const PAGE: usize = 500;

/// Bunches that wait while a group is committed, and commits in all of them: so many that nobody else has to wait, and no
/// more, however slow the disk is.
const BUNCHES: usize = 128;
const ROOM: usize = 4_096;

/// Resources that wait to be fetched, and arrivals that wait to be committed.
const QUEUE: usize = 512;

/// How long arrivals gather before they are looked at: with small resources a look at each would cost more than its transfer.
const BREATH: Duration = Duration::from_millis(2);

/// The thread that commits, and the ways to and from it.
pub(super) struct Pipeline {
    commits: mpsc::Sender<Bunch>,
    room: Arc<Semaphore>,
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
        let (commits, mut received) = mpsc::channel(BUNCHES);
        let (told, flushed) = mpsc::unbounded_channel();
        let committing = tokio::task::spawn_blocking(move || {
            // Nobody listens any more only where the run has ended already.
            let result = committer.run(&mut received, &mut |group| drop(told.send(group)));
            (committer, result)
        });
        Ok(Self { commits, room: Arc::new(Semaphore::new(ROOM)), flushed, committing })
    }

    /// Hands something to the thread that commits; why it does not take it, [`Self::close`] tells.
    pub(super) async fn send(&mut self, commit: Commit) -> Result<(), Error> {
        self.send_all(vec![commit]).await
    }

    /// The same for what comes together.
    pub(super) async fn send_all(&mut self, commits: Vec<Commit>) -> Result<(), Error> {
        let ended = || Error::Task { source: "nothing is committed any more".into() };
        if commits.is_empty() {
            return Ok(());
        }
        let places = u32::try_from(commits.len().min(ROOM)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(places).await.map_err(|_| ended())?;
        self.commits.send(Bunch { commits, room }).await.map_err(|_| ended())
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
        let (sender, tasks) = mpsc::channel(QUEUE);
        let (outcomes_in, mut outcomes) = mpsc::channel(QUEUE);
        let fetcher = run.fetcher.clone();
        let enough = CancellationToken::new();
        let working = {
            let (fetcher, enough) = (fetcher.clone(), enough.clone());
            tokio::spawn(async move { fetcher.run(tasks, outcomes_in, enough).await })
        };
        let shutdown = run.options.shutdown.clone();
        let reader = run.state().reader()?;
        let as_of = run.options.as_of.as_ref().and_then(http_date);
        let mut feed = Feed { reader, page: Vec::new().into_iter(), after: 0, as_of };
        let mut sender = Some(sender);
        let mut arrived = Vec::with_capacity(QUEUE);
        let mut next_look = Instant::now();
        let mut deadline = None;
        loop {
            if run.ending().is_some() {
                enough.cancel();
                sender = None;
            } else if !feed.fill(set, sender.as_ref())? {
                sender = None;
            }
            let look = async {
                sleep_until(next_look).await;
                outcomes.recv_many(&mut arrived, QUEUE).await
            };
            tokio::select! {
                more = look => {
                    if more == 0 {
                        break;
                    }
                    next_look = Instant::now() + BREATH;
                    run.progress(fetcher.bytes());
                    let mut commits = Vec::with_capacity(more);
                    for (task, outcome) in arrived.drain(..) {
                        commits.extend(settle::settle(run, set.id, task, outcome, unexplained)?);
                    }
                    self.send_all(commits).await?;
                }
                Some(group) = self.flushed.recv() => run.tell_flushed(group),
                () = shutdown.cancelled(), if deadline.is_none() => deadline = Some(Instant::now() + GRACE),
                Some(()) = OptionFuture::from(deadline.map(sleep_until)), if deadline.is_some() => break,
            }
        }
        working.abort();
        if let Some(body) = run.wall.stands().map(str::to_owned) {
            let what = format!(
                "most of what came is the same wrong body ({body}), as of a login page: nothing more is asked for"
            );
            run.problem(ProblemKind::Mismatch, &run.options.url.clone(), &what);
        }
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

    /// Writes down what else is said of what is held.
    pub(super) async fn note(&mut self, run: &Run<'_>, set: &SetRun) -> Result<(), Error> {
        if set.with(|draft| draft.actions().totals(ActionKind::Note).0) == 0 {
            return Ok(());
        }
        let reader = run.state().reader()?;
        let mut after = 0;
        loop {
            let page = set.with(|draft| draft.actions().of_kind_after(ActionKind::Note, after, PAGE))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.sequence;
            let mut commits = Vec::with_capacity(page.len());
            for Action { wanted, .. } in page {
                let held = reader.held(wanted.uri.as_str())?;
                if let Some(path) = held.as_ref().map(|held| held.path.as_str()) {
                    run.monitor.event(Event::Noted { uri: wanted.uri.as_str(), path });
                }
                commits.push(Commit::Noted { uri: wanted.uri, facts: wanted.facts });
            }
            self.send_all(commits).await?;
        }
    }

    /// Removes what the plan says is gone, in its order, unless the guard refuses it.
    pub(super) async fn delete(&mut self, run: &mut Run<'_>, set: &SetRun) -> Result<(), Error> {
        if set.refused.is_some() {
            return Ok(());
        }
        let mut after = 0;
        loop {
            let page = set.with(|draft| draft.actions().of_kind_after(ActionKind::Delete, after, PAGE))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.sequence;
            let deletion = |action: Action| Commit::Deletion { uri: action.wanted.uri, set: set.id };
            self.send_all(page.into_iter().map(deletion).collect()).await?;
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
    /// The moment whose versions are wanted though they may have been replaced, as HTTP writes it.
    as_of: Option<Box<str>>,
}

impl Feed {
    /// Queues as many tasks as there is room for; whether there may be more.
    fn fill(&mut self, set: &SetRun, tasks: Option<&mpsc::Sender<Task<Pending>>>) -> Result<bool, Error> {
        let Some(tasks) = tasks else { return Ok(false) };
        // Whoever takes the tasks is gone only where the run has ended.
        while let Ok(room) = tasks.try_reserve() {
            let Some(task) = self.next(set)? else { return Ok(false) };
            room.send(task);
        }
        Ok(true)
    }

    fn next(&mut self, set: &SetRun) -> Result<Option<Task<Pending>>, Error> {
        loop {
            for action in self.page.by_ref() {
                self.after = action.sequence;
                if action.kind.asks() {
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
        let at = extra.lies_at.as_deref().and_then(|href| Uri::parse(href).ok());
        let mut task = Task::new(at.unwrap_or_else(|| action.wanted.uri.clone()), Pending { action, held });
        let wanted = &task.context.action.wanted;
        task.expected.length = wanted.facts.length;
        task.expected.digests = wanted.facts.digests.clone();
        task.expected.encoding = extra.encoding.map(Into::into);
        // What lies elsewhere is asked for on behalf of its resource.
        task.speaker = extra.lies_at.and_then(|_| Origin::parse(wanted.uri.as_str()).ok());
        let uris = |texts: &[String]| texts.iter().filter_map(|uri| Uri::parse(uri).ok()).collect::<Vec<_>>();
        match &self.as_of {
            Some(moment) => {
                task.mirrors = uris(&extra.mementos);
                task.mirrors.extend(extra.timegate.as_deref().and_then(|gate| Uri::parse(gate).ok()));
                task.moment = Some(moment.clone());
            }
            // `loc` moves on, a memento stays: it is asked last, and believed by its digest only.
            None => task.fallbacks = uris(&extra.mementos),
        }
        task.mirrors.extend(uris(&extra.mirrors));
        task.held = task.context.held.as_ref().map(validators);
        Ok(task)
    }
}

/// A moment as `Accept-Datetime` has it.
fn http_date(moment: &DateTime) -> Option<Box<str>> {
    let seconds = u64::try_from(moment.instant().0).ok()?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    Some(httpdate::fmt_http_date(time).into())
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
        self.tell_traffic();
    }

    /// Tells what is committed now.
    fn tell_flushed(&mut self, group: Flushed) {
        for done in group.committed {
            if done.uri.as_str().contains('#') {
                self.report.versions += 1;
                continue;
            }
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
            let mut item = Item::new(letter, done.uri.as_str(), Some(done.length));
            item.path = Some(done.path.as_str());
            self.monitor.event(Event::Committed(item));
        }
        for (uri, error) in group.refused {
            self.failed(ProblemKind::Storage, uri.as_str(), &crate::error::story(&error));
        }
        if let Some(error) = group.untold {
            let what = format!("Changes of the copy could not be handed over, the next run does it: {error}");
            self.problem(ProblemKind::Storage, &self.options.url, &what);
        }
    }
}
