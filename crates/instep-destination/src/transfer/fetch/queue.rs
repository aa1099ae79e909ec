//! The tasks of a fetcher, in a line per host.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

use instep_net::{HostQueue, Origin};
use resourcesync::Uri;
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// Tasks that wait here, beyond those in the channel, by their weight. The limit is also the number of entries of one
/// stalled host that others can overtake; one of usual size takes about 1 KiB.
const WAITING: usize = 8_192;

/// The tasks that come through a channel, handed out to workers host by host.
pub(super) struct TaskQueue<T> {
    tasks: AsyncMutex<Option<mpsc::Receiver<T>>>,
    waiting: Mutex<WaitingTasks<T>>,
    /// A transfer ended, so that its host may have another one.
    ended: Notify,
    in_hand: AtomicUsize,
    is_over: AtomicBool,
    /// A task was handed out, or there are none left.
    handed_out: Notify,
    enough: CancellationToken,
}

/// The tasks that wait for their hosts.
struct WaitingTasks<T> {
    queue: HostQueue<T>,
    /// The host of the last task: the next one usually has the same, and comparing is cheaper than parsing.
    last: Option<Origin>,
    weight: usize,
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
            // URIs without an origin fail at once: they share a line.
            self.last = Origin::parse(place).ok();
        }
        self.queue.push(self.last.clone(), task);
    }
}

impl<T> TaskQueue<T> {
    /// Returns a queue that hands out at most `per_host` tasks of one host at a time, and no tasks once `enough` is
    /// cancelled.
    pub(super) fn new(tasks: mpsc::Receiver<T>, per_host: usize, enough: CancellationToken) -> Self {
        let waiting = Mutex::new(WaitingTasks { queue: HostQueue::new(per_host), last: None, weight: 0 });
        Self {
            tasks: AsyncMutex::new(Some(tasks)),
            waiting,
            ended: Notify::new(),
            in_hand: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            handed_out: Notify::new(),
            enough,
        }
    }

    /// Returns the next task and the host that it is counted for; `None` at the end. [`Self::done`] must follow. `look`
    /// gives the place of a task and its weight.
    pub(super) async fn next(&self, look: impl Fn(&T) -> (&Uri, usize)) -> Option<(T, Option<Origin>)> {
        let next = self.take(look).await;
        match next {
            Some(_) => drop(self.in_hand.fetch_add(1, Relaxed)),
            None => self.is_over.store(true, Relaxed),
        }
        self.handed_out.notify_one();
        next
    }

    /// Waits until this number of tasks is in hand. Returns `false` if the tasks end before that.
    pub(super) async fn has_in_hand(&self, tasks: usize) -> bool {
        loop {
            let changed = self.handed_out.notified();
            if self.is_over.load(Relaxed) {
                return false;
            }
            if self.in_hand.load(Relaxed) >= tasks {
                return true;
            }
            changed.await;
        }
    }

    async fn take(&self, look: impl Fn(&T) -> (&Uri, usize)) -> Option<(T, Option<Origin>)> {
        let mut tasks = self.tasks.lock().await;
        loop {
            if self.enough.is_cancelled() {
                return None;
            }
            self.take_in(&mut tasks, &look);
            if let Some(next) = self.waiting().pop(&look) {
                return Some(next);
            }
            let (is_empty, has_room) = {
                let waiting = self.waiting();
                (waiting.queue.is_empty(), waiting.has_room())
            };
            if is_empty && tasks.is_none() {
                return None;
            }
            tokio::select! {
                task = receive(&mut tasks), if has_room => self.add(task, &mut tasks, &look),
                () = self.ended.notified() => {}
                () = self.enough.cancelled() => return None,
            }
        }
    }

    /// Records that the transfer of a task has ended, and how many tasks of its host may be in hand from now on.
    pub(super) fn done(&self, host: &Option<Origin>, most: usize) {
        self.in_hand.fetch_sub(1, Relaxed);
        {
            let queue = &mut self.waiting().queue;
            queue.allow(host, most);
            queue.done(host);
        }
        self.ended.notify_one();
    }

    /// Takes the tasks out of the channel that are there already, as far as there is room.
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
