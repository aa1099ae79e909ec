//! The one thread that writes: whatever waits while a commit is made shares the next one.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use rusqlite::Connection;

use super::{
    CatalogueError,
    ledger::ChangeLog,
    row, schema,
    timeline::{Clock, Timeline},
};

/// At most so many pieces of work share one commit.
const GROUP: usize = 256;

/// Answers the one who waits for a piece of work, once its fate is known.
type CommitReply = Box<dyn FnOnce(Result<(), CatalogueError>) + Send>;
type LedgerWork = Box<dyn FnOnce(&mut ChangeLog<'_>) -> CommitReply + Send>;
type ExclusiveTask = Box<dyn FnOnce(&Connection) + Send>;

/// A request to the thread that writes.
enum WriterJob {
    /// It shares a transaction with others.
    Work(LedgerWork),
    /// It must not be in one.
    Alone(ExclusiveTask),
}

/// A piece of work that was handed over.
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
    /// Pieces of work that are handed over and not done.
    undone: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
    pub(super) timeline: Arc<Timeline>,
    /// Held from the first datetime of a transaction until it is committed, so that a snapshot taken under it has
    /// each change that is older than the snapshot.
    pub(super) gate: Arc<Mutex<()>>,
}

impl Writer {
    pub(super) fn start(path: &Path, clock: Clock) -> Result<Self, CatalogueError> {
        Self::over(schema::SCHEMA.open(path)?, clock)
    }

    pub(super) fn over(connection: Connection, clock: Clock) -> Result<Self, CatalogueError> {
        let timeline = Arc::new(Timeline::after(row::read_clock(&connection)?, clock));
        let gate = Arc::new(Mutex::new(()));
        let (jobs, waiting) = sync_channel(GROUP);
        let (shared_timeline, shared_gate) = (Arc::clone(&timeline), Arc::clone(&gate));
        let thread = thread::Builder::new()
            .name("catalogue".to_owned())
            .spawn(move || write(&connection, &waiting, &shared_timeline, &shared_gate))
            .map_err(|_| CatalogueError::Closed)?;
        Ok(Self { jobs: Some(jobs), undone: Arc::default(), thread: Some(thread), timeline, gate })
    }

    /// Hands over a piece of work and waits until it is committed, or has failed.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut ChangeLog<'_>) -> Result<T, CatalogueError> + Send + 'static,
    ) -> Result<T, CatalogueError> {
        self.begin(work)?.wait()
    }

    /// Hands over a piece of work; it is done after all that was handed over before it.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut ChangeLog<'_>) -> Result<T, CatalogueError> + Send + 'static,
    ) -> Result<PendingCommit<T>, CatalogueError> {
        let (reply, answer) = sync_channel(1);
        let undone = Arc::clone(&self.undone);
        let work: LedgerWork = Box::new(move |ledger| {
            let outcome = ledger.attempt(work);
            Box::new(move |committed| {
                undone.fetch_sub(1, Ordering::SeqCst);
                // Nobody listens any more where the caller has gone.
                let _ = reply.send(committed.and(outcome));
            })
        });
        let jobs = self.jobs.as_ref().ok_or(CatalogueError::Closed)?;
        self.undone.fetch_add(1, Ordering::SeqCst);
        jobs.send(WriterJob::Work(work)).map_err(|_| CatalogueError::Closed)?;
        Ok(PendingCommit(answer))
    }

    /// Runs a task between two transactions, and waits for it.
    pub(super) fn alone<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Connection) -> Result<T, CatalogueError> + Send + 'static,
    ) -> Result<T, CatalogueError> {
        let (reply, answer) = sync_channel(1);
        let task: ExclusiveTask = Box::new(move |connection| drop(reply.send(task(connection))));
        let jobs = self.jobs.as_ref().ok_or(CatalogueError::Closed)?;
        jobs.send(WriterJob::Alone(task)).map_err(|_| CatalogueError::Closed)?;
        PendingCommit(answer).wait()
    }

    /// Waits until all is done that was handed over before.
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

fn write(connection: &Connection, waiting: &Receiver<WriterJob>, timeline: &Timeline, gate: &Mutex<()>) {
    let mut next = waiting.recv().ok();
    while let Some(job) = next.take() {
        match job {
            WriterJob::Alone(task) => task(connection),
            WriterJob::Work(first) => {
                // Before the first datetime is given out: a snapshot waits for it, and then shows every change older than itself.
                let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
                let mut answers = Vec::new();
                let outcome = ChangeLog::begin(connection, timeline).and_then(|mut ledger| {
                    answers.push(first(&mut ledger));
                    // One wait for the disk serves all who came while the last one lasted.
                    while answers.len() < GROUP {
                        match waiting.try_recv() {
                            Ok(WriterJob::Work(work)) => answers.push(work(&mut ledger)),
                            other => {
                                next = other.ok();
                                break;
                            }
                        }
                    }
                    ledger.commit()
                });
                // Before the answers: who gets one may take a snapshot at once.
                drop(closed);
                answers.into_iter().for_each(|answer| answer(outcome.clone()));
            }
        }
        if next.is_none() {
            next = waiting.recv().ok();
        }
    }
}
