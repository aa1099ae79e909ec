//! The one thread that writes: whatever waits while a commit is made shares the next one.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use rusqlite::Connection;

use super::{
    CatalogueError,
    ledger::Ledger,
    row, schema,
    timeline::{Clock, Timeline},
};

/// At most so many pieces of work share one commit.
const GROUP: usize = 256;

/// Answers the one who waits for a piece of work, once its fate is known.
type Answer = Box<dyn FnOnce(Result<(), CatalogueError>) + Send>;
type Job = Box<dyn FnOnce(&mut Ledger<'_>) -> Answer + Send>;

#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    pub(super) timeline: Arc<Timeline>,
    /// Held from the first datetime of a transaction until it is committed, so that a snapshot taken under it has
    /// each change that is older than the snapshot.
    pub(super) gate: Arc<Mutex<()>>,
}

impl Writer {
    pub(super) fn start(path: &Path, clock: Clock) -> Result<Self, CatalogueError> {
        let connection = schema::open_writer(path)?;
        let timeline = Arc::new(Timeline::after(row::read_clock(&connection)?, clock));
        let gate = Arc::new(Mutex::new(()));
        let (jobs, waiting) = sync_channel(GROUP);
        let (shared_timeline, shared_gate) = (Arc::clone(&timeline), Arc::clone(&gate));
        let thread = thread::Builder::new()
            .name("catalogue".to_owned())
            .spawn(move || write(&connection, &waiting, &shared_timeline, &shared_gate))
            .map_err(|_| CatalogueError::Closed)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), timeline, gate })
    }

    /// Hands over a piece of work and waits until it is committed, or has failed.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Ledger<'_>) -> Result<T, CatalogueError> + Send + 'static,
    ) -> Result<T, CatalogueError> {
        let (reply, answer) = sync_channel(1);
        let job: Job = Box::new(move |ledger| {
            let outcome = ledger.attempt(work);
            Box::new(move |committed| {
                // Nobody listens any more where the caller has gone.
                let _ = reply.send(committed.and(outcome));
            })
        });
        let jobs = self.jobs.as_ref().ok_or(CatalogueError::Closed)?;
        jobs.send(job).map_err(|_| CatalogueError::Closed)?;
        answer.recv().map_err(|_| CatalogueError::Closed)?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic over there has already been told to those who waited.
            let _ = thread.join();
        }
    }
}

fn write(connection: &Connection, waiting: &Receiver<Job>, timeline: &Timeline, gate: &Mutex<()>) {
    while let Ok(first) = waiting.recv() {
        let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answers = Vec::new();
        let outcome = Ledger::begin(connection, timeline).and_then(|mut ledger| {
            answers.push(first(&mut ledger));
            while answers.len() < GROUP
                && let Ok(job) = waiting.try_recv()
            {
                answers.push(job(&mut ledger));
            }
            ledger.commit()
        });
        drop(closed);
        answers.into_iter().for_each(|answer| answer(outcome.clone()));
    }
}
