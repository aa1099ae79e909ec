//! The tasks of a fetcher, in a queue for each host. The order among hosts is decided by `HostQueue` of `instep-net`.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{
        AtomicBool, AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
};

use instep_net::{HostQueue, Origin};
use resourcesync::Uri;
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// The most tasks that wait here, by their weight, beside those in the channel. It is also the number of tasks of a
/// stalled host that others can overtake. A task of usual size takes about 1 KiB.
const WAITING: usize = 8_192;

/// The tasks that come through a channel, handed out to workers host by host.
pub(super) struct TaskQueue<T> {
    tasks: AsyncMutex<Option<mpsc::Receiver<T>>>,
    waiting: Mutex<WaitingTasks<T>>,
    /// Wakes the worker that receives tasks.
    called: Notify,
    in_hand: AtomicUsize,
    /// The number of tasks in hand that [`TaskQueue::has_in_hand`] waits for.
    awaited: AtomicUsize,
    is_over: AtomicBool,
    /// Notified when as many tasks as are awaited are in hand, or when none are left.
    enough_in_hand: Notify,
    enough: CancellationToken,
}

/// The tasks that wait for their hosts.
struct WaitingTasks<T> {
    queue: HostQueue<T>,
    /// The host of the last task: the next one usually has the same, and comparing is cheaper than parsing.
    last: Option<Origin>,
    weight: usize,
    /// `true` if the receiver has stopped because there was no room.
    is_full: bool,
}

impl<T> WaitingTasks<T> {
    fn has_room(&self) -> bool {
        self.weight < WAITING
    }

    fn pop(&mut self, look: impl Fn(&T) -> (&Uri, usize)) -> Option<(T, Option<Origin>)> {
        let next = self.queue.pop()?;
        self.weight -= look(&next.0).1;
        Some(next)
    }

    fn push(&mut self, task: T, look: impl Fn(&T) -> (&Uri, usize)) {
        let (place, weight) = look(&task);
        let place = place.as_str();
        self.weight += weight;
        if !self.last.as_ref().is_some_and(|last| last.begins(place)) {
            // URIs without an origin fail at once, so they share a queue.
            self.last = Origin::parse(place).ok();
        }
        self.queue.push(self.last.clone(), task);
    }

    /// Returns `true` if the worker that receives tasks must be woken: there is room again, there is a task for another
    /// worker, or nothing is left, which may be the end.
    fn calls_the_receiver(&mut self) -> bool {
        let has_room = self.weight < WAITING / 2 && std::mem::take(&mut self.is_full);
        has_room || self.queue.has_turn() || self.queue.is_empty()
    }
}

impl<T> TaskQueue<T> {
    /// Returns a queue that hands out at most `per_host` tasks of one host at a time, and no tasks once `enough` is
    /// cancelled.
    pub(super) fn new(tasks: mpsc::Receiver<T>, per_host: usize, enough: CancellationToken) -> Self {
        let queue = HostQueue::new(per_host);
        Self {
            tasks: AsyncMutex::new(Some(tasks)),
            waiting: Mutex::new(WaitingTasks { queue, last: None, weight: 0, is_full: false }),
            called: Notify::new(),
            in_hand: AtomicUsize::new(0),
            awaited: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            enough_in_hand: Notify::new(),
            enough,
        }
    }

    /// Returns the next task and the host that it is counted for; `None` at the end. [`Self::done`] must follow. `look`
    /// gives the place of a task and its weight.
    pub(super) async fn next(&self, look: impl Fn(&T) -> (&Uri, usize)) -> Option<(T, Option<Origin>)> {
        let next = match self.take_waiting(&look) {
            None => self.take(look).await,
            next => next,
        };
        let is_news = match next {
            Some(_) => self.in_hand.fetch_add(1, SeqCst) + 1 >= self.awaited.load(SeqCst),
            None => !self.is_over.swap(true, Relaxed),
        };
        if is_news {
            self.enough_in_hand.notify_one();
        }
        next
    }

    /// Waits until this number of tasks is in hand. Returns `false` if the tasks end before that.
    pub(super) async fn has_in_hand(&self, tasks: usize) -> bool {
        // `SeqCst`: either this worker sees a task that is taken from now on, or the worker that takes it sees this
        // number.
        self.awaited.store(tasks, SeqCst);
        loop {
            let changed = self.enough_in_hand.notified();
            if self.is_over.load(Relaxed) {
                return false;
            }
            if self.in_hand.load(SeqCst) >= tasks {
                return true;
            }
            changed.await;
        }
    }

    /// Takes a task that already waits, for a worker whose transfer has ended: waking the receiver would cost more than
    /// the rest of the queue.
    fn take_waiting(&self, look: impl Fn(&T) -> (&Uri, usize)) -> Option<(T, Option<Origin>)> {
        if self.enough.is_cancelled() {
            return None;
        }
        let mut waiting = self.waiting();
        let next = waiting.pop(look);
        let calls = waiting.calls_the_receiver();
        drop(waiting);
        if calls {
            self.called.notify_one();
        }
        next
    }

    /// Receives tasks until there is one to take. The lock admits one worker at a time.
    async fn take(&self, look: impl Fn(&T) -> (&Uri, usize)) -> Option<(T, Option<Origin>)> {
        let mut tasks = self.tasks.lock().await;
        loop {
            if self.enough.is_cancelled() {
                return None;
            }
            self.take_in(&mut tasks, &look);
            let (next, is_empty, has_room) = {
                let mut waiting = self.waiting();
                let next = waiting.pop(&look);
                waiting.is_full = !waiting.has_room();
                (next, waiting.queue.is_empty(), waiting.has_room())
            };
            if next.is_some() {
                return next;
            }
            if is_empty && tasks.is_none() {
                return None;
            }
            tokio::select! {
                task = receive(&mut tasks), if has_room => self.add(task, &mut tasks, &look),
                () = self.called.notified() => {}
                () = self.enough.cancelled() => return None,
            }
        }
    }

    /// Records that the transfer of a task has ended, and how many tasks of its host may be in hand from now on. The
    /// worker then takes the next task.
    pub(super) fn done(&self, host: &Option<Origin>, most: usize) {
        self.in_hand.fetch_sub(1, Relaxed);
        let queue = &mut self.waiting().queue;
        queue.allow(host, most);
        queue.done(host);
    }

    /// Moves tasks that wait in the channel into the queues, while there is room.
    fn take_in(&self, tasks: &mut Option<mpsc::Receiver<T>>, look: &impl Fn(&T) -> (&Uri, usize)) {
        while self.waiting().has_room() {
            match tasks.as_mut().map(mpsc::Receiver::try_recv) {
                Some(Ok(task)) => self.add(Some(task), tasks, look),
                Some(Err(mpsc::error::TryRecvError::Disconnected)) => *tasks = None,
                Some(Err(mpsc::error::TryRecvError::Empty)) | None => return,
            }
        }
    }

    fn add(
        &self,
        task: Option<T>,
        tasks: &mut Option<mpsc::Receiver<T>>,
        look: &impl Fn(&T) -> (&Uri, usize),
    ) {
        match task {
            Some(task) => self.waiting().push(task, look),
            None => *tasks = None,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingTasks<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receives the next task; waits forever once the channel is closed, so that only the other events count.
async fn receive<T>(tasks: &mut Option<mpsc::Receiver<T>>) -> Option<T> {
    match tasks {
        Some(tasks) => tasks.recv().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;

    struct Item(Uri);

    fn look(item: &Item) -> (&Uri, usize) {
        (&item.0, 1)
    }

    /// The test has more tasks than may wait, of two hosts, and more workers than either host may have.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_task_is_handed_out_once_and_then_every_worker_ends() {
        const TASKS: usize = 3 * WAITING;
        let (sender, tasks) = mpsc::channel(16);
        let queue = Arc::new(TaskQueue::new(tasks, 2, CancellationToken::new()));
        let in_hand = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let workers: Vec<_> = (0..6)
            .map(|_| {
                let (queue, in_hand) = (Arc::clone(&queue), Arc::clone(&in_hand));
                tokio::spawn(async move {
                    let mut seen = 0;
                    while let Some((item, host)) = queue.next(look).await {
                        let of_host = &in_hand[usize::from(item.0.as_str().starts_with("http://b"))];
                        assert!(of_host.fetch_add(1, SeqCst) < 2, "no host has more than its share");
                        if seen % 7 == 0 {
                            tokio::task::yield_now().await;
                        }
                        seen += 1;
                        of_host.fetch_sub(1, SeqCst);
                        queue.done(&host, 2);
                    }
                    seen
                })
            })
            .collect();
        let sending = async {
            for number in 0..TASKS {
                let host = if number % 3 == 0 { 'b' } else { 'a' };
                let uri = Uri::parse(&format!("http://{host}/{number}")).unwrap();
                assert!(sender.send(Item(uri)).await.is_ok());
            }
            drop(sender);
            futures_util::future::join_all(workers).await
        };
        let ended = tokio::time::timeout(Duration::from_secs(60), sending).await.unwrap();
        assert_eq!(ended.into_iter().map(Result::unwrap).sum::<usize>(), TASKS);
    }

    #[tokio::test]
    async fn workers_are_asked_for_while_those_that_are_there_are_busy() {
        let (sender, tasks) = mpsc::channel(16);
        let queue = TaskQueue::new(tasks, 2, CancellationToken::new());
        assert!(queue.has_in_hand(0).await);
        let task = |path: &str| Item(Uri::parse(&format!("http://a/{path}")).unwrap());
        assert!(sender.send(task("1")).await.is_ok());
        let (is_asked_for, first) = tokio::join!(queue.has_in_hand(1), queue.next(look));
        assert!(is_asked_for && first.is_some());
        drop(sender);
        let (is_asked_for, none) = tokio::join!(queue.has_in_hand(2), queue.next(look));
        assert!(!is_asked_for && none.is_none());
    }
}
