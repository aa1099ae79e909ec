//! Resources with one request each: fetches the tasks of a feed, and passes on the results.

use std::time::Duration;

use futures_util::future::OptionFuture;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    feed::{FeedState, TaskFeed},
    fetch::{FetchOutcome, Fetcher, Task},
    pipeline::Pipeline,
    settle::{self, Pending},
};
use crate::{Error, ProblemKind, commit::Commit, run::SyncRun, state::SetId};

/// The time that transfers in flight may take once the run should end. Small ones are finished in it; the received
/// part of a large one is kept for the next run.
const GRACE: Duration = Duration::from_secs(2);

/// The most resources that wait to be fetched, and the most arrivals that wait to be committed.
const QUEUE: usize = 512;

/// The time for which arrivals are collected: handling each small resource alone would cost more than its transfer.
const COALESCE_WINDOW: Duration = Duration::from_millis(2);

/// The number of arrivals at a time up to which the last ones are not collected any more.
const FEW: usize = 8;

/// The transfers of a fetcher. They end when it is dropped: also if an error ends the loop below, so that nothing is
/// received any more for a run that has failed.
struct RunningTransfers(JoinHandle<()>);

impl Drop for RunningTransfers {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl RunningTransfers {
    /// Begins to fetch the tasks that are received.
    fn begin(
        fetcher: Fetcher,
        tasks: mpsc::Receiver<Box<Task<Pending>>>,
        outcomes: mpsc::Sender<(Box<Task<Pending>>, FetchOutcome)>,
        enough: CancellationToken,
    ) -> Self {
        Self(tokio::spawn(async move { fetcher.run(tasks, outcomes, enough).await }))
    }

    /// Waits for their end.
    ///
    /// # Errors
    /// If a fault in the program has ended them: the checkpoint must not pass the tasks that they had, which are neither
    /// held nor pending.
    async fn ended(mut self) -> Result<(), Error> {
        match (&mut self.0).await {
            Err(fault) if fault.is_panic() => Err(fault.into()),
            _ => Ok(()),
        }
    }
}

impl Pipeline {
    /// Fetches the tasks of a feed, and passes on the results.
    pub(super) async fn fetch(
        &mut self,
        run: &mut SyncRun<'_>,
        set: SetId,
        feed: &mut dyn TaskFeed,
    ) -> Result<(), Error> {
        let (sender, tasks) = mpsc::channel(QUEUE);
        let (outcomes_in, mut outcomes) = mpsc::channel(QUEUE);
        let fetcher = run.network.fetcher.clone();
        let enough = CancellationToken::new();
        let working = RunningTransfers::begin(fetcher.clone(), tasks, outcomes_in, enough.clone());
        let stop = run.stop.token().clone();
        let mut sender = Some(sender);
        let mut arrived = Vec::with_capacity(QUEUE);
        let (mut next_look, mut last) = (Instant::now(), 0);
        let mut deadline = None;
        loop {
            let again = match send_tasks(run, feed, &mut sender, &enough)? {
                FeedState::Again(pause) => Some(pause),
                FeedState::Enough => {
                    deadline = Some(Instant::now() + GRACE);
                    None
                }
                FeedState::More | FeedState::Done => None,
            };
            // Thousands of tasks may still wait to be fetched when the feed is done, so arrivals are collected until
            // few remain.
            let is_collecting = sender.is_some() || last > FEW;
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
                    (next_look, last) = (Instant::now() + COALESCE_WINDOW, more);
                    run.reporter.progress(fetcher.bytes());
                    self.send_all(settled(run, set, feed, &mut arrived)?).await?;
                    if run.login_page.is_in_doubt() {
                        run.stop.unless(run.login_page.compare(&run.network.client)).await;
                    }
                }
                Some(group) = self.flushed.recv() => run.reporter.committed(group),
                Some(()) = OptionFuture::from(again.map(sleep)), if again.is_some() => {}
                () = stop.cancelled(), if deadline.is_none() => deadline = Some(Instant::now() + GRACE),
                Some(()) = OptionFuture::from(deadline.map(sleep_until)), if deadline.is_some() => break,
            }
        }
        if deadline.is_some() {
            working.0.abort();
        }
        report_login_page(run);
        working.ended().await
    }
}

/// Sends the next tasks of a feed, and closes the channel behind the last one, or once the run should end. Returns the
/// state of the feed.
fn send_tasks(
    run: &mut SyncRun<'_>,
    feed: &mut dyn TaskFeed,
    sender: &mut Option<mpsc::Sender<Box<Task<Pending>>>>,
    enough: &CancellationToken,
) -> Result<FeedState, Error> {
    if run.ending().is_some() {
        enough.cancel();
        *sender = None;
    }
    let Some(tasks) = sender else { return Ok(FeedState::Done) };
    let state = feed.fill(run, tasks)?;
    if matches!(state, FeedState::Enough) {
        enough.cancel();
    }
    if matches!(state, FeedState::Done | FeedState::Enough) {
        *sender = None;
    }
    Ok(state)
}

/// Returns the commits for what arrived.
fn settled(
    run: &mut SyncRun<'_>,
    set: SetId,
    feed: &mut dyn TaskFeed,
    arrived: &mut Vec<(Box<Task<Pending>>, FetchOutcome)>,
) -> Result<Vec<Commit>, Error> {
    let mut commits = Vec::with_capacity(arrived.len());
    for (task, outcome) in arrived.drain(..) {
        let place = task.context.place;
        let settled = settle::settle(run, set, task, outcome)?;
        run.reporter.report.unchanged += u64::from(settled.is_unchanged());
        run.reporter.report.unverified += u64::from(settled.is_unverified);
        commits.push(feed.settle(run, place, settled));
    }
    Ok(commits)
}

/// Reports that most answers were one wrong body.
fn report_login_page(run: &mut SyncRun<'_>) {
    if let Some(body) = run.login_page.recognised().map(str::to_owned) {
        let what = format!(
            "most answers have the same wrong body ({body}), like a login page: no further requests are sent"
        );
        run.reporter.problem(ProblemKind::Mismatch, &run.options.url, &what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn o518_transfers_that_a_fault_in_the_program_ended_are_not_taken_for_done() {
        let broken: JoinHandle<()> = tokio::spawn(async { panic!("a fault in the program") });
        assert!(matches!(RunningTransfers(broken).ended().await, Err(Error::Task { .. })));
        let stopped: JoinHandle<()> = tokio::spawn(std::future::pending());
        stopped.abort();
        RunningTransfers(stopped).ended().await.unwrap();
    }
}
