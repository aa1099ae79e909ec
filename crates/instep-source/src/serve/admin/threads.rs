//! The threads on which reported changes are recorded.

use std::sync::Arc;

use tokio::{
    sync::Semaphore,
    task::{JoinError, spawn_blocking},
};

/// The most of them. A change of a file waits for the scan under way, which may take hours, and other answers need
/// threads too.
const MOST: usize = 64;

/// The threads for changes; further changes wait without one.
#[derive(Clone, Debug)]
pub(super) struct RecordingThreads(Arc<Semaphore>);

impl RecordingThreads {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }

    /// Does work on one of the threads, which stays taken until it is done, also if nobody waits any more.
    ///
    /// # Errors
    /// If the work panics.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let place = Arc::clone(&self.0).acquire_owned().await;
        let done = spawn_blocking(move || {
            let _place = place;
            work()
        });
        done.await
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Mutex, mpsc},
        time::Duration,
    };

    use tokio::{task::yield_now, time::timeout};

    use super::*;

    #[tokio::test]
    async fn o634_changes_that_wait_for_a_scan_leave_threads_to_other_answers() {
        let threads = RecordingThreads::new();
        let (scan, scanned) = mpsc::channel::<()>();
        let scanned = Arc::new(Mutex::new(scanned));
        let recorded: Vec<_> = (0..600)
            .map(|_| {
                let (threads, scanned) = (threads.clone(), Arc::clone(&scanned));
                let wait = move || scanned.lock().unwrap().recv().is_err();
                tokio::spawn(async move { threads.run(wait).await })
            })
            .collect();
        // Until each of them has begun to wait.
        for _ in 0..1_000 {
            yield_now().await;
        }
        let other = timeout(Duration::from_secs(30), spawn_blocking(|| ())).await;
        drop(scan);
        assert!(other.is_ok());
        for task in recorded {
            assert!(task.await.unwrap().unwrap());
        }
    }
}
