//! The tasks of a transfer: those of the plan of the run, or of slices of a plan that several workers carry out
//! (`slice_feed.rs`).

use std::time::{Duration, SystemTime};

use instep_net::{Origin, Validators};
use resourcesync::{DateTime, Uri};
use tokio::sync::mpsc;

use super::{
    pipeline::PAGE,
    settle::{Pending, Settlement},
    unexplained::Unexplained,
};
use crate::{
    Error,
    commit::Commit,
    plan::share_no_algorithm,
    run::{SetRun, SyncRun},
    slices::SlicePlace,
    state::{Action, ActionKind, ReadState, ResourceMetadata},
    transfer::fetch::Task,
};

/// The state of a feed after a request for tasks.
pub(super) enum FeedState {
    /// There may be more tasks after others have finished.
    More,
    /// There may be more tasks. The feed must also be called again after this pause.
    Again(Duration),
    /// No more tasks follow: the transfer ends when those under way have finished.
    Done,
    /// No more tasks follow, and queued ones are not begun: the transfer ends soon.
    Enough,
}

/// A source of tasks.
pub(super) trait TaskFeed: Send {
    /// Queues as many tasks as there is room for.
    fn fill(
        &mut self,
        run: &mut SyncRun<'_>,
        tasks: &mpsc::Sender<Box<Task<Pending>>>,
    ) -> Result<FeedState, Error>;

    /// Returns the commit for the result of a task, and reports a failure.
    fn settle(&mut self, run: &mut SyncRun<'_>, place: Option<SlicePlace>, settled: Settlement) -> Commit;
}

/// The plan of a run as tasks, a page at a time.
pub(super) struct PlanFeed<'s> {
    set: &'s SetRun,
    tasks: TaskMaker,
    page: std::vec::IntoIter<Action>,
    after: i64,
    unexplained: &'s mut Unexplained,
}

impl<'s> PlanFeed<'s> {
    pub(super) fn new(run: &SyncRun<'_>, set: &'s SetRun, unexplained: &'s mut Unexplained) -> Self {
        let page = Vec::new().into_iter();
        Self { set, tasks: TaskMaker::new(run), page, after: 0, unexplained }
    }

    fn next(&mut self, run: &SyncRun<'_>) -> Result<Option<Box<Task<Pending>>>, Error> {
        loop {
            for action in self.page.by_ref() {
                self.after = action.sequence;
                if action.kind.asks() {
                    return self.tasks.make(run, action, None).map(Some);
                }
            }
            let page = self.set.with(|draft| draft.actions().after(self.after, PAGE))?;
            if page.is_empty() {
                return Ok(None);
            }
            self.page = page.into_iter();
        }
    }
}

impl TaskFeed for PlanFeed<'_> {
    fn fill(
        &mut self,
        run: &mut SyncRun<'_>,
        tasks: &mpsc::Sender<Box<Task<Pending>>>,
    ) -> Result<FeedState, Error> {
        // The receiver is gone only if the run has ended.
        while let Ok(room) = tasks.try_reserve() {
            let Some(task) = self.next(run)? else { return Ok(FeedState::Done) };
            room.send(task);
        }
        Ok(FeedState::More)
    }

    fn settle(&mut self, run: &mut SyncRun<'_>, _: Option<SlicePlace>, settled: Settlement) -> Commit {
        let Settlement { commit, failure, .. } = settled;
        if let (Some(failure), Commit::Owed(_, owed)) = (failure, &commit) {
            failure.report(run, owed.desired.uri.as_str(), self.unexplained);
        }
        commit
    }
}

/// Turns actions into tasks.
pub(super) struct TaskMaker {
    /// The state, opened for the first resource whose held metadata is needed. Most runs need none.
    reader: Option<Box<dyn ReadState>>,
    /// The time whose state is wanted, in the form of HTTP; `None` for the present state.
    as_of: Option<Box<str>>,
}

impl TaskMaker {
    pub(super) fn new(run: &SyncRun<'_>) -> Self {
        Self { reader: None, as_of: run.options.as_of.as_ref().and_then(http_date) }
    }

    pub(super) fn make(
        &mut self,
        run: &SyncRun<'_>,
        action: Action,
        place: Option<SlicePlace>,
    ) -> Result<Box<Task<Pending>>, Error> {
        let held = match action.kind {
            // Validators of bytes that the digests may contradict are not sent: they would be confirmed by the same time.
            ActionKind::Check => self
                .held(run, &action.desired.uri)?
                .filter(|held| !share_no_algorithm(&held.digests, &action.desired.metadata.digests)),
            _ => None,
        };
        let (desired, retrieval) = (&action.desired, action.desired.retrieval());
        let at = retrieval.lies_at.as_deref().and_then(|href| Uri::parse(href).ok());
        let mut task = Task::new(at.unwrap_or_else(|| desired.uri.clone()), ());
        task.expected.length = desired.metadata.length;
        task.expected.digests = desired.metadata.digests.clone();
        task.expected.encoding = retrieval.encoding.as_deref().map(Into::into);
        // Another location is requested on behalf of the resource, within the scope of the resource.
        task.speaker = retrieval.lies_at.as_ref().and_then(|_| Origin::parse(desired.uri.as_str()).ok());
        let uris = |texts: &[String]| texts.iter().filter_map(|uri| Uri::parse(uri).ok()).collect::<Vec<_>>();
        match &self.as_of {
            Some(moment) => {
                task.mirrors = uris(&retrieval.mementos);
                task.mirrors.extend(retrieval.timegate.as_deref().and_then(|gate| Uri::parse(gate).ok()));
                task.moment = Some(moment.clone());
            }
            // A memento never changes, while `loc` may. It is requested last, and used only if its digest is the
            // expected one.
            None => task.fallbacks = uris(&retrieval.mementos),
        }
        task.mirrors.extend(uris(&retrieval.mirrors));
        task.modified = desired.metadata.lastmod;
        task.held = held.as_ref().map(validators);
        task.weight = desired.weight();
        Ok(Box::new(task.with_context(Pending { action, held, place })))
    }

    fn held(&mut self, run: &SyncRun<'_>, uri: &Uri) -> Result<Option<ResourceMetadata>, Error> {
        let reader = match self.reader.take() {
            Some(reader) => reader,
            None => run.state().reader()?,
        };
        Ok(self.reader.insert(reader).held(uri.as_str())?.map(|held| held.metadata))
    }
}

/// Returns a time in the form of `Accept-Datetime`.
fn http_date(moment: &DateTime) -> Option<Box<str>> {
    let seconds = u64::try_from(moment.instant().0).ok()?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    Some(httpdate::fmt_http_date(time).into())
}

/// Returns the validators for a request. If the server gave no ETag, its `Last-Modified` is stored instead: quotes
/// distinguish the two.
fn validators(held: &ResourceMetadata) -> Validators {
    match held.etag.as_deref() {
        Some(etag) if etag.starts_with(['"', 'W']) && etag.ends_with('"') => {
            Validators::new(Some(etag), None)
        }
        time => Validators::new(None, time),
    }
}
