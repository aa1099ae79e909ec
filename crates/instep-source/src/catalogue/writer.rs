//! The writer thread. All work that is queued during a commit shares the next one.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use super::{
    CatalogueError,
    engine::{CatalogueTransaction, WriteCatalogue},
    timeline::Timeline,
};

/// The largest number of pieces of work in one commit.
const GROUP: usize = 256;

/// A queued piece of work, and its waiting caller.
trait LedgerWork: Send {
    /// Does the work in the open transaction. It is called again if the transaction must be repeated, unless the work
    /// itself failed.
    fn run(&mut self, ledger: &mut dyn CatalogueTransaction);

    /// Answers the caller, once the result of the transaction is known.
    fn answer(self: Box<Self>, committed: Result<(), CatalogueError>);
}

type ExclusiveTask = Box<dyn FnOnce(&mut dyn WriteCatalogue) + Send>;

/// A request to the thread that writes.
enum WriterJob {
    /// Work that shares a transaction with other work.
    Work(Box<dyn LedgerWork>),
    /// Work that must not be within a transaction.
    Alone(ExclusiveTask),
}

/// Work with its outcome.
struct WaitingWork<T, W> {
    work: W,
    outcome: Option<Result<T, CatalogueError>>,
    reply: SyncSender<Result<T, CatalogueError>>,
    /// The number of queued pieces of work that are not done.
    undone: Arc<AtomicUsize>,
}

impl<T, W> LedgerWork for WaitingWork<T, W>
where
    T: Send,
    W: Fn(&mut dyn CatalogueTransaction) -> Result<T, CatalogueError> + Send,
{
    fn run(&mut self, ledger: &mut dyn CatalogueTransaction) {
        if self.outcome.as_ref().is_some_and(|outcome| outcome.as_ref().is_err_and(|it| !it.may_pass())) {
            return;
        }
        let (work, mut value) = (&self.work, None);
        let done = ledger.attempt(&mut |ledger| {
            value = Some(work(ledger)?);
            Ok(())
        });
        self.outcome = Some(done.and_then(|()| value.ok_or(CatalogueError::Closed)));
    }

    fn answer(self: Box<Self>, committed: Result<(), CatalogueError>) {
        self.undone.fetch_sub(1, Ordering::SeqCst);
        let answer = match self.outcome {
            // Its own fault may be why the transaction was undone, and says what to do.
            Some(Err(own)) if !own.may_pass() => Err(own),
            outcome => committed.and(outcome.unwrap_or(Err(CatalogueError::Closed))),
        };
        // The caller may have gone, and then nobody receives the answer.
        let _ = self.reply.send(answer);
    }
}

/// A queued piece of work, whose outcome can be waited for.
#[derive(Debug)]
#[must_use]
pub(crate) struct PendingCommit<T>(Receiver<Result<T, CatalogueError>>);

impl<T> PendingCommit<T> {
    /// Waits until it is committed, or has failed.
    pub(crate) fn wait(self) -> Result<T, CatalogueError> {
        self.0.recv().map_err(|_| CatalogueError::Closed)?
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<SyncSender<WriterJob>>,
    /// The number of queued pieces of work that are not done.
    undone: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
    pub(super) timeline: Arc<Timeline>,
    /// Held from the first datetime of a transaction until it is committed, so that a snapshot taken under it has
    /// each change that is older than the snapshot.
    pub(super) gate: Arc<Mutex<()>>,
}

impl Writer {
    /// Starts the thread. The timeline continues after the last datetime that the engine assigned.
    pub(super) fn start(
        engine: Box<dyn WriteCatalogue>,
        timeline: Arc<Timeline>,
    ) -> Result<Self, CatalogueError> {
        let gate = Arc::new(Mutex::new(()));
        let (jobs, waiting) = sync_channel(GROUP);
        let (shared_timeline, shared_gate) = (Arc::clone(&timeline), Arc::clone(&gate));
        let thread = thread::Builder::new()
            .name("catalogue".to_owned())
            .spawn(move || write(engine, &waiting, &shared_timeline, &shared_gate))
            .map_err(|_| CatalogueError::Closed)?;
        Ok(Self { jobs: Some(jobs), undone: Arc::default(), thread: Some(thread), timeline, gate })
    }

    /// Hands over a piece of work and waits until it is committed, or has failed.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn CatalogueTransaction) -> Result<T, CatalogueError> + Send + 'static,
    ) -> Result<T, CatalogueError> {
        self.begin(work)?.wait()
    }

    /// Queues a piece of work, which is done after all work that was queued before.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn CatalogueTransaction) -> Result<T, CatalogueError> + Send + 'static,
    ) -> Result<PendingCommit<T>, CatalogueError> {
        let (reply, answer) = sync_channel(1);
        let work = WaitingWork { work, outcome: None, reply, undone: Arc::clone(&self.undone) };
        let jobs = self.jobs.as_ref().ok_or(CatalogueError::Closed)?;
        self.undone.fetch_add(1, Ordering::SeqCst);
        jobs.send(WriterJob::Work(Box::new(work))).map_err(|_| CatalogueError::Closed)?;
        Ok(PendingCommit(answer))
    }

    /// Runs a task between two transactions, and waits for it.
    pub(super) fn alone<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut dyn WriteCatalogue) -> Result<T, CatalogueError> + Send + 'static,
    ) -> Result<T, CatalogueError> {
        let (reply, answer) = sync_channel(1);
        let task: ExclusiveTask = Box::new(move |engine| drop(reply.send(task(engine))));
        let jobs = self.jobs.as_ref().ok_or(CatalogueError::Closed)?;
        jobs.send(WriterJob::Alone(task)).map_err(|_| CatalogueError::Closed)?;
        PendingCommit(answer).wait()
    }

    /// Queues a task that nobody waits for.
    pub(super) fn later(
        &self,
        task: impl FnOnce(&mut dyn WriteCatalogue) + Send + 'static,
    ) -> Result<(), CatalogueError> {
        let jobs = self.jobs.as_ref().ok_or(CatalogueError::Closed)?;
        jobs.send(WriterJob::Alone(Box::new(task))).map_err(|_| CatalogueError::Closed)
    }

    /// Waits until all work is done that was queued before.
    pub(super) fn settle(&self) -> Result<(), CatalogueError> {
        match self.undone.load(Ordering::SeqCst) {
            0 => Ok(()),
            _ => self.run(|_| Ok(())),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been reported to those who waited for it.
            let _ = thread.join();
        }
    }
}

fn write(
    mut engine: Box<dyn WriteCatalogue>,
    waiting: &Receiver<WriterJob>,
    timeline: &Timeline,
    gate: &Mutex<()>,
) {
    let mut next = waiting.recv().ok();
    while let Some(job) = next.take() {
        match job {
            WriterJob::Alone(task) => task(&mut *engine),
            WriterJob::Work(first) => {
                // Locked before the first datetime is assigned: a snapshot waits for this lock, and then shows every
                // change that is older than itself.
                let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
                let mut group = vec![first];
                let outcome = engine.transaction(timeline, &mut |ledger| {
                    group.iter_mut().for_each(|work| work.run(ledger));
                    // One wait for the disk serves all work that was queued during the last one.
                    while group.len() < GROUP && next.is_none() {
                        match waiting.try_recv() {
                            Ok(WriterJob::Work(mut work)) => {
                                work.run(ledger);
                                group.push(work);
                            }
                            other => {
                                next = other.ok();
                                break;
                            }
                        }
                    }
                });
                // Unlocked before the callers are answered, because they may take a snapshot at once.
                drop(closed);
                group.into_iter().for_each(|work| work.answer(outcome.clone()));
            }
        }
        if next.is_none() {
            next = waiting.recv().ok();
        }
    }
}
