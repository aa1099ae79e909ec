//! Fetches resources into staged, verified files: with a queue per host, bounded concurrency, retries and continuation.
//!
//! Plans and held resources are not known here, and nothing is committed here.

mod cached;
mod decoding;
mod error;
mod partial;
mod parts;
mod queue;
mod shared;
mod task;
mod transfer;
mod verify;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use instep_net::{Client, Origin};
use resourcesync::Uri;
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

pub(crate) use cached::TimeInCache;
pub(crate) use decoding::{Decoding, DecodingError};
pub(crate) use error::{FetchError, Mismatch};
pub(crate) use shared::PartSizes;
pub(crate) use task::{Arrival, Expected, FetchOutcome, Task};

use crate::{Verify, store::StagingArea};
use queue::TaskQueue;
use shared::SharedTransfer;
use transfer::Transfer;
pub(crate) use verify::Seen;

/// The most workers for each transfer that the client allows. A worker whose host is slow or paused waits, so there
/// must be others for the remaining hosts.
const WORKERS_PER_TRANSFER: usize = 4;

/// Lets no further task begin if the worker that has it panics: the task would be lost, and its place at the host too.
struct EndsAtFault(CancellationToken);

impl Drop for EndsAtFault {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.cancel();
        }
    }
}

/// Fetches resources into staged files whose length and digests are the expected ones.
///
/// # Contract
/// A file that is reported as staged is complete and verified. A failed transfer leaves nothing behind but the
/// beginning of a large resource, which the next run continues.
#[derive(Clone)]
pub(crate) struct Fetcher(Arc<SharedTransfer>);

impl Fetcher {
    /// Returns a fetcher that stages into a store.
    pub(crate) fn new(client: Client, store: Arc<dyn StagingArea>, verify: Verify) -> Self {
        Self::with_parts(client, store, verify, PartSizes::default())
    }

    /// Returns a fetcher with other parts of large resources than the usual ones.
    pub(crate) fn with_parts(
        client: Client,
        store: Arc<dyn StagingArea>,
        verify: Verify,
        parts: PartSizes,
    ) -> Self {
        Self(Arc::new(SharedTransfer {
            client,
            store,
            verify,
            bytes: AtomicU64::new(0),
            in_parts: Semaphore::new(1),
            parts,
        }))
    }

    /// Returns the store that files are staged in.
    pub(crate) fn store(&self) -> &Arc<dyn StagingArea> {
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

    /// Returns the bytes of resources that have arrived so far, for progress.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes.load(Relaxed)
    }

    /// Fetches the tasks sent through `tasks` until that ends. Each task is returned with its outcome, in no
    /// particular order. A stalled host delays only its own tasks (B17). No task is begun once `enough` is cancelled
    /// or `outcomes` is closed.
    ///
    /// # Panics
    /// If a transfer does: its task has no outcome.
    pub(crate) async fn run<T: Send + Sync + 'static>(
        &self,
        tasks: mpsc::Receiver<Box<Task<T>>>,
        outcomes: mpsc::Sender<(Box<Task<T>>, FetchOutcome)>,
        enough: CancellationToken,
    ) {
        let options = self.0.client.options();
        let per_host = options.per_host.min(options.transfers);
        let queue = Arc::new(TaskQueue::new(tasks, per_host, enough.clone()));
        let most = options.transfers.max(1) * WORKERS_PER_TRANSFER;
        let mut workers = JoinSet::new();
        // Workers are started as tasks arrive: one more than there are tasks in hand. A run that fetches nothing needs
        // only one.
        while workers.len() < most && queue.has_in_hand(workers.len()).await {
            let (fetcher, queue, outcomes) = (self.clone(), Arc::clone(&queue), outcomes.clone());
            let ends = EndsAtFault(enough.clone());
            // Boxed at once: a future is moved several times before it runs, and this one has 13 KiB.
            workers.spawn(Box::pin(async move {
                let _ends = ends;
                fetcher.work(&queue, &outcomes).await;
            }));
        }
        workers.join_all().await;
    }

    /// Returns the number of tasks of a host that may be in hand.
    fn window(&self, host: Option<&Origin>) -> usize {
        let options = self.0.client.options();
        let asked_for = options.per_host.min(options.transfers);
        host.map_or(asked_for, |host| self.0.client.window(host).max(asked_for))
    }

    async fn work<T: Send + Sync>(
        &self,
        queue: &TaskQueue<Box<Task<T>>>,
        outcomes: &mpsc::Sender<(Box<Task<T>>, FetchOutcome)>,
    ) {
        while let Some((task, place)) = queue.next(|task| (task.first_place(), task.weight)).await {
            let outcome = self.fetch(&task).await;
            let is_wanted = outcomes.send((task, outcome)).await.is_ok();
            queue.done(&place, self.window(place.as_ref()));
            if !is_wanted {
                return;
            }
        }
    }

    /// Fetches one resource: from its mirrors in their order, then from its own URI (§14.2). If there are validators,
    /// its own URI comes first, because a mirror cannot use them.
    pub(crate) async fn fetch<T: Sync>(&self, task: &Task<T>) -> FetchOutcome {
        let own_first = task.held.as_ref().is_some_and(|held| !held.is_empty());
        if !own_first && let Some(staged) = self.fetch_from_any(&task.mirrors, task).await {
            return staged;
        }
        let outcome = self.fetch_from(&task.uri, task, self.0.client.options().retries).await;
        if !matches!(outcome, FetchOutcome::Failed(_) | FetchOutcome::Gone { .. }) {
            return outcome;
        }
        if own_first
            && matches!(outcome, FetchOutcome::Failed(_))
            && let Some(staged) = self.fetch_from_any(&task.mirrors, task).await
        {
            return staged;
        }
        // Without a digest nothing proves that another location has the wanted version.
        if task.expected.digests.strongest().is_none() {
            return outcome;
        }
        self.fetch_from_any(&task.fallbacks, task).await.unwrap_or(outcome)
    }

    /// Fetches from the first of several places that has the resource; `None` if none has. Failures are not reported,
    /// because the outcome at its own URI counts.
    async fn fetch_from_any<T: Sync>(&self, places: &[Uri], task: &Task<T>) -> Option<FetchOutcome> {
        for place in places {
            if let staged @ FetchOutcome::Staged(_) = self.fetch_from(place, task, 0).await {
                return Some(staged);
            }
        }
        None
    }

    /// Fetches from one place. A resource that does not match is fetched once more, because a cache may have returned
    /// an old copy (D33). It may also have unpacked a file that its server labels with a coding, for a client that
    /// accepts none: if a digest shows which form is listed, the second request accepts gzip.
    async fn fetch_from<T: Sync>(&self, from: &Uri, task: &Task<T>, retries: u32) -> FetchOutcome {
        match self.transfer(from, task, retries, false).await {
            FetchOutcome::Failed(FetchError::Mismatch(_)) => {
                let accepts_gzip = task.expected.digests.strongest().is_some();
                self.transfer(from, task, retries, accepts_gzip).await
            }
            outcome => outcome,
        }
    }

    async fn transfer<T: Sync>(
        &self,
        from: &Uri,
        task: &Task<T>,
        retries: u32,
        accepts_gzip: bool,
    ) -> FetchOutcome {
        let mut transfer = Transfer::new(&self.0, from, task);
        transfer.request.compressed = accepts_gzip;
        let outcome = transfer.run(retries).await;
        self.count(transfer.received());
        match outcome {
            Ok(outcome) => outcome,
            Err(error) => FetchOutcome::Failed(error),
        }
    }
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetcher").field("bytes", &self.0.bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
