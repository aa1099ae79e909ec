//! The threads that pages may hold: a limited number, because those that block serve files, too.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

/// The most pages that are made at the same time. A search or a database that does not answer holds a thread for seconds,
/// and there are 512 for everything that blocks.
const MOST_AT_ONCE: usize = 32;
/// The longest that a request waits for its turn; after that the client must repeat it. Waiting holds no thread.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// The longest that a request waits for its page once it is being made. A database may not answer for hours.
const LONGEST_MAKING: Duration = Duration::from_secs(60);

/// The right of a request to a thread for its page, for as many requests as may have one at the same time.
#[derive(Clone, Debug)]
pub struct PageTurns {
    free: Arc<Semaphore>,
    longest_wait: Duration,
    longest_making: Duration,
}

impl Default for PageTurns {
    fn default() -> Self {
        Self {
            free: Arc::new(Semaphore::new(MOST_AT_ONCE)),
            longest_wait: LONGEST_WAIT,
            longest_making: LONGEST_MAKING,
        }
    }
}

impl PageTurns {
    /// Returns the same with another longest wait, for the turn and then for the page.
    #[must_use]
    pub fn within(self, longest: Duration) -> Self {
        Self { longest_wait: longest, longest_making: longest, ..self }
    }

    /// Makes a page on a thread that may block, when it is the turn of its request. Returns `None` if the turn or the page takes
    /// too long, or if making it panics.
    pub async fn make<T: Send + 'static>(&self, make: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let turn = timeout(self.longest_wait, Arc::clone(&self.free).acquire_owned()).await.ok()?.ok()?;
        // The thread has the turn, not the request: a client that goes away, or waits no longer, does not end the work.
        let made = spawn_blocking(move || {
            let _turn = turn;
            make()
        });
        timeout(self.longest_making, made).await.ok()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn o614_pages_hold_a_limited_number_of_threads_also_if_their_clients_have_gone() {
        let turns = PageTurns { free: Arc::new(Semaphore::new(1)), ..PageTurns::default() };
        let turns = PageTurns { longest_wait: Duration::from_millis(20), ..turns };
        let ((ends, end), (begins, begun)) = (mpsc::channel::<()>(), mpsc::channel());
        let long = turns.clone();
        let request = tokio::spawn(async move {
            long.make(move || {
                begins.send(()).unwrap();
                end.recv()
            })
            .await
        });
        spawn_blocking(move || begun.recv()).await.unwrap().unwrap();
        request.abort();
        let _ = request.await;
        assert_eq!(turns.make(|| 1).await, None);
        drop(ends);
        let patient = PageTurns { longest_wait: Duration::from_secs(60), ..turns };
        assert_eq!(patient.make(|| 2).await, Some(2));
    }

    #[tokio::test]
    async fn o970_a_page_that_is_not_made_in_time_is_not_waited_for_and_keeps_its_turn() {
        let turns = PageTurns { free: Arc::new(Semaphore::new(1)), ..PageTurns::default() };
        let hasty = turns.clone().within(Duration::from_millis(20));
        let (ends, end) = mpsc::channel::<()>();
        assert_eq!(hasty.make(move || end.recv().is_ok()).await, None);
        assert_eq!(hasty.make(|| true).await, None);
        drop(ends);
        assert_eq!(turns.within(Duration::from_secs(60)).make(|| true).await, Some(true));
    }
}
