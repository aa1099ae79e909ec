//! Slices of a shared plan as tasks: the fetches of each worker with a share of it.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

use tokio::sync::mpsc;

use super::{
    feed::{FeedState, TaskFeed, TaskMaker},
    pipeline::PAGE,
    settle::{Pending, Settlement, TransferFailure},
    unexplained::Unexplained,
};
use crate::{
    Error, ProblemKind,
    commit::{Commit, SliceOutcome},
    records::slice,
    run::SyncRun,
    slices::{BeatWatch, SliceBook, SlicePlace},
    state::{Action, ShareCounts, SharerId, SliceBoard, SliceFailure, StateError},
    transfer::fetch::Task,
};

/// The pause between two readings of the slices and of the shares of other workers.
const LOOK: Duration = Duration::from_millis(500);

/// Slices of a shared plan as tasks.
pub(super) struct SliceFeed<'s> {
    board: Box<dyn SliceBoard>,
    tasks: TaskMaker,
    book: SliceBook,
    claimed: VecDeque<(Action, SlicePlace)>,
    /// The number of bytes that were transferred before the last outcome.
    bytes: u64,
    /// The time of the next search for free slices; `None` if the last search found some.
    next_claim: Option<Instant>,
    /// The time at which a helping worker last asked if it should end.
    asked: Instant,
    /// The other workers, as the run that has the copy sees them; `None` for a helping worker.
    others: Option<OtherShares<'s>>,
}

/// The shares of other workers, as the run that has the copy sees them.
struct OtherShares<'s> {
    began: Instant,
    looked: Instant,
    watch: BeatWatch,
    counted: BTreeMap<SharerId, ShareCounts>,
    unexplained: &'s mut Unexplained,
}

impl<'s> SliceFeed<'s> {
    /// Returns the feed of the run that has the copy, which waits for the others.
    pub(super) fn of_all(
        run: &SyncRun<'_>,
        board: Box<dyn SliceBoard>,
        unexplained: &'s mut Unexplained,
    ) -> Self {
        let (began, watch, counted) = (Instant::now(), BeatWatch::default(), BTreeMap::new());
        let others = OtherShares { began, looked: began, watch, counted, unexplained };
        Self { others: Some(others), ..Self::of_share(run, board) }
    }

    /// Returns the feed of a worker that helps.
    pub(super) fn of_share(run: &SyncRun<'_>, board: Box<dyn SliceBoard>) -> Self {
        Self {
            board,
            tasks: TaskMaker::new(run),
            book: SliceBook::new(run.network.client.options().transfers),
            claimed: VecDeque::new(),
            bytes: run.network.fetcher.bytes(),
            next_claim: None,
            asked: Instant::now(),
            others: None,
        }
    }

    /// Returns `true` if this worker should commit what it has, and end.
    fn is_ending(&mut self) -> Result<bool, Error> {
        if self.asked.elapsed() < LOOK {
            return Ok(false);
        }
        self.asked = Instant::now();
        Ok(self.board.is_ending()?)
    }

    /// Claims slices if there are too few actions in hand. Returns `true` if there are tasks to queue.
    fn claim(&mut self) -> Result<bool, Error> {
        let wanted = self.book.wanted();
        if wanted == 0 || self.next_claim.is_some_and(|look| Instant::now() < look) {
            return Ok(false);
        }
        let slices = self.board.claim(wanted)?;
        self.next_claim = slices.is_empty().then(|| Instant::now() + LOOK);
        for claimed in slices {
            let actions = slice::from_bytes(&claimed.actions);
            // Only slices of the version that this worker reads are claimed.
            let actions = actions.map_err(|error| Error::Invariant {
                what: format!("a slice of a shared plan cannot be read: {error}"),
            })?;
            let mut places = self.book.take(claimed.progress).into_iter().peekable();
            for (place, action) in (0..).zip(actions) {
                if let Some(at) = places.next_if(|at| at.place == place) {
                    self.claimed.push_back((action, at));
                }
            }
        }
        Ok(!self.claimed.is_empty())
    }
}

impl TaskFeed for SliceFeed<'_> {
    fn fill(
        &mut self,
        run: &mut SyncRun<'_>,
        tasks: &mpsc::Sender<Box<Task<Pending>>>,
    ) -> Result<FeedState, Error> {
        if let Some(others) = &mut self.others {
            others.look(run, &*self.board)?;
        } else if self.is_ending()? {
            // The other run waits a few seconds for the resources that have arrived. Queued ones would arrive later, and
            // be lost.
            return Ok(FeedState::Enough);
        }
        loop {
            while !self.claimed.is_empty() {
                // The receiver is gone only if the run has ended.
                let Ok(room) = tasks.try_reserve() else { return Ok(FeedState::Again(LOOK)) };
                if let Some((action, place)) = self.claimed.pop_front() {
                    room.send(self.tasks.make(run, action, Some(place))?);
                }
            }
            if !self.claim()? {
                break;
            }
        }
        if self.book.has_any() || self.next_claim.is_none() {
            return Ok(FeedState::Again(LOOK));
        }
        match &mut self.others {
            // Others still have slices, which become free if their worker dies.
            Some(_) if !self.board.have_others_done()? => Ok(FeedState::Again(LOOK)),
            Some(others) => others.conclude(run, &*self.board).map(|()| FeedState::Done),
            None => Ok(FeedState::Done),
        }
    }

    fn settle(&mut self, run: &mut SyncRun<'_>, place: Option<SlicePlace>, settled: Settlement) -> Commit {
        let (is_unchanged, is_unverified) = (settled.is_unchanged(), settled.is_unverified);
        let Settlement { commit, failure, .. } = settled;
        let Some(progress) = place.and_then(|place| self.book.settle(place)) else { return commit };
        let bytes = run.network.fetcher.bytes();
        let counts = ShareCounts {
            done: 1,
            unchanged: is_unchanged.into(),
            unverified: is_unverified.into(),
            bytes: bytes - std::mem::replace(&mut self.bytes, bytes),
            ..ShareCounts::default()
        };
        let mut left = None;
        if let (Some(failure), Commit::Owed(_, owed)) = (failure, &commit) {
            let uri = owed.desired.uri.as_str();
            match &mut self.others {
                Some(others) => failure.report(run, uri, others.unexplained),
                None => {
                    run.reporter.failed(failure.problem(uri));
                    let TransferFailure { kind, what, explicable, .. } = failure;
                    left = Some(SliceFailure {
                        uri: uri.to_owned(),
                        kind: kind.as_str().to_owned(),
                        what,
                        explicable,
                    });
                }
            }
        }
        Commit::OfSlice(Box::new(SliceOutcome { commit, progress, counts, failure: left }))
    }
}

impl OtherShares<'_> {
    /// Counts the results of others, and ends the shares of dead workers.
    fn look(&mut self, run: &mut SyncRun<'_>, board: &dyn SliceBoard) -> Result<(), Error> {
        if self.looked.elapsed() < LOOK {
            return Ok(());
        }
        self.looked = Instant::now();
        let beats = self.count(run, board)?;
        for (sharer, beat) in self.watch.look(self.began.elapsed(), &beats) {
            if board.end_share(sharer, beat)? {
                run.reporter.note("A worker is gone; its slices of the plan are free");
            }
        }
        Ok(())
    }

    /// Adds the results of others since the last call to the report. Returns the heartbeats of the present shares.
    fn count(
        &mut self,
        run: &mut SyncRun<'_>,
        board: &dyn SliceBoard,
    ) -> Result<Vec<(SharerId, i64)>, StateError> {
        let mut beats = Vec::new();
        for share in board.shares()?.into_iter().filter(|share| share.sharer != board.me()) {
            let counted = self.counted.entry(share.sharer).or_default();
            let more = share.counts.since(std::mem::replace(counted, share.counts));
            run.tally.done += more.done;
            run.reporter.done_by_others(&more);
            beats.extend((!share.has_ended).then_some((share.sharer, share.beat)));
        }
        Ok(beats)
    }

    /// Counts the last results of others, and takes over their failures.
    fn conclude(&mut self, run: &mut SyncRun<'_>, board: &dyn SliceBoard) -> Result<(), Error> {
        self.count(run, board)?;
        let mut after = String::new();
        loop {
            let page = board.failures_after(&after, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            last.uri.clone_into(&mut after);
            for SliceFailure { uri, kind, what, explicable } in page {
                let kind = ProblemKind::parse(&kind).unwrap_or(ProblemKind::Unreachable);
                // The worker that had it has already reported the permission that would help.
                TransferFailure { explicable, ..TransferFailure::new(kind, what) }.report(
                    run,
                    &uri,
                    self.unexplained,
                );
            }
        }
    }
}
