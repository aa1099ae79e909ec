//! Actions to staged, verified files: bounded concurrency, retry, resume.

mod error;
mod partial;
mod parts;
mod task;
mod transfer;
mod verify;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use resourcesync::Uri;
use tokio::{
    sync::{Mutex, Semaphore, mpsc},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

pub use error::{FetchError, Mismatch};
pub use parts::Parts;
pub use task::{Arrival, Expected, Outcome, Task};

use crate::{Verify, http::Client, store::Store};
use transfer::Transfer;
pub(crate) use verify::Seen;

/// Brings resources into staged files whose length and digests are those that were expected.
///
/// # Contract
/// A file that is reported as staged is complete and verified; of one that is not, nothing is left behind.
#[derive(Clone)]
pub struct Fetcher(Arc<Shared>);

struct Shared {
    client: Client,
    store: Arc<dyn Store>,
    verify: Verify,
    bytes: AtomicU64,
    /// Who fetches in parts: one at a time, for the parts wait in memory.
    in_parts: Semaphore,
    parts: Parts,
}

impl Fetcher {
    /// Fetches by a client into the staging of a store.
    pub fn new(client: Client, store: Arc<dyn Store>, verify: Verify) -> Self {
        Self::with_parts(client, store, verify, Parts::default())
    }

    /// The same with other parts of large resources than the usual ones.
    pub fn with_parts(client: Client, store: Arc<dyn Store>, verify: Verify, parts: Parts) -> Self {
        Self(Arc::new(Shared {
            client,
            store,
            verify,
            bytes: AtomicU64::new(0),
            in_parts: Semaphore::new(1),
            parts,
        }))
    }

    /// Where staged files go.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }

    pub(crate) fn verify(&self) -> Verify {
        self.0.verify
    }

    pub(crate) fn count(&self, bytes: u64) {
        self.0.bytes.fetch_add(bytes, Relaxed);
    }

    /// Bytes of resources that arrived so far: for progress.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Relaxed)
    }

    /// Fetches what comes through `tasks` until that ends, with as many workers as the client has transfers. Each task comes back with
    /// its outcome, in no order. A worker that finds `outcomes` closed ends; once it is `enough`, no further task is begun.
    pub async fn run<T: Send + Sync + 'static>(
        &self,
        tasks: mpsc::Receiver<Task<T>>,
        outcomes: mpsc::Sender<(Task<T>, Outcome)>,
        enough: CancellationToken,
    ) {
        let tasks = Arc::new(Mutex::new(tasks));
        let mut workers = JoinSet::new();
        for _ in 0..self.0.client.options().transfers.max(1) {
            let (fetcher, tasks, outcomes) = (self.clone(), Arc::clone(&tasks), outcomes.clone());
            let enough = enough.clone();
            workers.spawn(async move { fetcher.work(&tasks, &outcomes, &enough).await });
        }
        workers.join_all().await;
    }

    async fn work<T: Send + Sync>(
        &self,
        tasks: &Mutex<mpsc::Receiver<Task<T>>>,
        outcomes: &mpsc::Sender<(Task<T>, Outcome)>,
        enough: &CancellationToken,
    ) {
        loop {
            let task = tasks.lock().await.recv().await;
            let Some(task) = task.filter(|_| !enough.is_cancelled()) else { return };
            let outcome = self.fetch(&task).await;
            if outcomes.send((task, outcome)).await.is_err() {
                return;
            }
        }
    }

    /// Fetches one resource: from its mirrors in their order, then from its own URI (§14.2).
    pub async fn fetch<T: Sync>(&self, task: &Task<T>) -> Outcome {
        for mirror in &task.mirrors {
            if let outcome @ (Outcome::Staged(_) | Outcome::NotModified) =
                self.fetch_from(mirror, task, 0).await
            {
                return outcome;
            }
        }
        let outcome = self.fetch_from(&task.uri, task, self.0.client.options().retries).await;
        if matches!(outcome, Outcome::Staged(_) | Outcome::NotModified)
            || task.expected.digests.strongest().is_none()
        {
            return outcome;
        }
        for fallback in &task.fallbacks {
            if let staged @ Outcome::Staged(_) = self.fetch_from(fallback, task, 0).await {
                return staged;
            }
        }
        outcome
    }

    /// Fetches from one place; what does not match is fetched once more, for a cache may have had an old copy (D33).
    async fn fetch_from<T: Sync>(&self, from: &Uri, task: &Task<T>, retries: u32) -> Outcome {
        match self.transfer(from, task, retries).await {
            Outcome::Failed(FetchError::Mismatch(_)) => self.transfer(from, task, retries).await,
            outcome => outcome,
        }
    }

    async fn transfer<T: Sync>(&self, from: &Uri, task: &Task<T>, retries: u32) -> Outcome {
        let mut transfer = Transfer::new(&self.0, from, task);
        let outcome = transfer.run(retries).await;
        self.count(transfer.received());
        match outcome {
            Ok(outcome) => outcome,
            Err(error) => Outcome::Failed(error),
        }
    }
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetcher").field("bytes", &self.0.bytes).finish_non_exhaustive()
    }
}
