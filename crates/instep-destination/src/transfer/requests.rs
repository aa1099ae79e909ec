//! Resources that come by a request each: the plan is fed to the fetcher, and what comes back is handed on.

use std::time::{Duration, SystemTime};

use futures_util::future::OptionFuture;
use instep_net::{Origin, Validators};
use resourcesync::{DateTime, Uri};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    Unexplained,
    pipeline::{PAGE, Pipeline},
    settle::{self, Pending},
};
use crate::{
    Error, ProblemKind,
    run::{SetRun, SyncRun},
    state::{Action, ActionKind, ReadState, ResourceMetadata},
    transfer::fetch::Task,
};

/// The time that transfers in flight may take once the run is to end. Small ones are done in it; what has arrived of a
/// large one is kept for the next run.
const GRACE: Duration = Duration::from_secs(2);

/// Resources that wait to be fetched, and arrivals that wait to be committed.
const QUEUE: usize = 512;

/// The time for which arrivals are collected: handling each small resource alone would cost more than its transfer.
const COALESCE_WINDOW: Duration = Duration::from_millis(2);

impl Pipeline {
    /// Fetches what the plan asks for, and hands on what comes of it.
    pub(super) async fn fetch(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &SetRun,
        unexplained: &mut Unexplained,
    ) -> Result<(), Error> {
        let (sender, tasks) = mpsc::channel(QUEUE);
        let (outcomes_in, mut outcomes) = mpsc::channel(QUEUE);
        let fetcher = run.network.fetcher.clone();
        let enough = CancellationToken::new();
        let working = {
            let (fetcher, enough) = (fetcher.clone(), enough.clone());
            tokio::spawn(async move { fetcher.run(tasks, outcomes_in, enough).await })
        };
        let stop = run.stop.token().clone();
        let reader = run.state().reader()?;
        let as_of = run.options.as_of.as_ref().and_then(http_date);
        let mut feed = PlanFeed { reader, page: Vec::new().into_iter(), after: 0, as_of };
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
            // The last of them are few: nothing is gained by collecting those.
            let is_collecting = sender.is_some();
            let look = async {
                if is_collecting {
                    sleep_until(next_look).await;
                }
                outcomes.recv_many(&mut arrived, QUEUE).await
            };
            tokio::select! {
                more = look => {
                    if more == 0 {
                        break;
                    }
                    next_look = Instant::now() + COALESCE_WINDOW;
                    run.reporter.progress(fetcher.bytes());
                    let mut commits = Vec::with_capacity(more);
                    for (task, outcome) in arrived.drain(..) {
                        commits.extend(settle::settle(run, set.id, task, outcome, unexplained)?);
                    }
                    self.send_all(commits).await?;
                    run.stop.unless(run.login_page.compare(&run.network.client)).await;
                }
                Some(group) = self.flushed.recv() => run.reporter.committed(group),
                () = stop.cancelled(), if deadline.is_none() => deadline = Some(Instant::now() + GRACE),
                Some(()) = OptionFuture::from(deadline.map(sleep_until)), if deadline.is_some() => break,
            }
        }
        working.abort();
        if let Some(body) = run.login_page.recognised().map(str::to_owned) {
            let what = format!(
                "most of what came is the same wrong body ({body}), as of a login page: nothing more is asked for"
            );
            run.reporter.problem(ProblemKind::Mismatch, &run.options.url, &what);
        }
        Ok(())
    }
}

/// The plan as tasks, a page at a time.
struct PlanFeed {
    reader: Box<dyn ReadState>,
    page: std::vec::IntoIter<Action>,
    after: i64,
    /// The moment whose versions are wanted though they may have been replaced, as HTTP writes it.
    as_of: Option<Box<str>>,
}

impl PlanFeed {
    /// Queues as many tasks as there is room for. Returns `true` if there may be more.
    fn fill(&mut self, set: &SetRun, tasks: Option<&mpsc::Sender<Task<Pending>>>) -> Result<bool, Error> {
        let Some(tasks) = tasks else { return Ok(false) };
        // The receiver is gone only if the run has ended.
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
            ActionKind::Check => self.reader.held(action.desired.uri.as_str())?.map(|held| held.metadata),
            _ => None,
        };
        let (desired, retrieval) = (&action.desired, action.desired.retrieval());
        let at = retrieval.lies_at.as_deref().and_then(|href| Uri::parse(href).ok());
        let mut task = Task::new(at.unwrap_or_else(|| desired.uri.clone()), ());
        task.expected.length = desired.metadata.length;
        task.expected.digests = desired.metadata.digests.clone();
        task.expected.encoding = retrieval.encoding.as_deref().map(Into::into);
        // Another location is requested on behalf of the resource: its scope is that of the resource.
        task.speaker = retrieval.lies_at.as_ref().and_then(|_| Origin::parse(desired.uri.as_str()).ok());
        let uris = |texts: &[String]| texts.iter().filter_map(|uri| Uri::parse(uri).ok()).collect::<Vec<_>>();
        match &self.as_of {
            Some(moment) => {
                task.mirrors = uris(&retrieval.mementos);
                task.mirrors.extend(retrieval.timegate.as_deref().and_then(|gate| Uri::parse(gate).ok()));
                task.moment = Some(moment.clone());
            }
            // `loc` moves on, a memento stays: it is asked last, and believed by its digest only.
            None => task.fallbacks = uris(&retrieval.mementos),
        }
        task.mirrors.extend(uris(&retrieval.mirrors));
        task.held = held.as_ref().map(validators);
        task.weight = desired.weight();
        Ok(task.with_context(Pending { action, held }))
    }
}

/// Returns a moment as `Accept-Datetime` has it.
fn http_date(moment: &DateTime) -> Option<Box<str>> {
    let seconds = u64::try_from(moment.instant().0).ok()?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    Some(httpdate::fmt_http_date(time).into())
}

/// Returns what the server is asked with. If it gave no ETag, its `Last-Modified` is kept instead: the two are told
/// apart by the quotes.
fn validators(held: &ResourceMetadata) -> Validators {
    match held.etag.as_deref() {
        Some(etag) if etag.starts_with(['"', 'W']) && etag.ends_with('"') => {
            Validators::new(Some(etag), None)
        }
        time => Validators::new(None, time),
    }
}
