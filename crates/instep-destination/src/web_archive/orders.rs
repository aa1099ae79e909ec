//! Orders for the thread that writes an archive.

use std::{
    fs::File,
    io,
    sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc::SyncSender},
    time::{Duration, SystemTime},
};

use super::captured::ArrivedExchange;

/// The number of orders that are taken together. Waking a thread costs more than writing a small record.
const TOGETHER: usize = 128;

/// The most orders that wait. A caller with a further one waits, and may be a thread that receives, so the limits are
/// large enough that this is rare.
const MOST: usize = 512;
/// The most bytes of their bodies in memory.
const MOST_BYTES: u64 = 16 << 20;

/// The number of bytes of bodies in memory from which on the orders are taken at once.
const MANY_BYTES: u64 = 4 << 20;

/// The longest time for which a few orders wait for more.
const LINGER: Duration = Duration::from_millis(200);

/// A piece of work for the thread that writes.
pub(super) enum ArchiveOrder {
    Exchange(Box<ArrivedExchange>),
    Member(ArchivedMember),
    /// A body could not be stored. The archive fails with this error.
    Failed(io::Error),
    /// All orders before this one must be on disk. The result is sent here.
    Keep(SyncSender<io::Result<()>>),
}

/// A resource that no single exchange has: a member of a package, one that came in parts, the result of a patch.
pub(super) struct ArchivedMember {
    pub(super) uri: String,
    pub(super) media_type: Option<String>,
    pub(super) file: File,
    pub(super) at: SystemTime,
}

/// The queue of orders for the thread that writes, for as long as the archive is open.
#[derive(Default)]
pub(super) struct Orders {
    waiting: Mutex<WaitingOrders>,
    arrived: Condvar,
    taken: Condvar,
}

#[derive(Default)]
struct WaitingOrders {
    orders: Vec<ArchiveOrder>,
    bytes: u64,
    /// `true` if a caller waits until these orders are on disk.
    is_urgent: bool,
    is_closed: bool,
}

impl WaitingOrders {
    fn is_due(&self) -> bool {
        self.is_urgent || self.is_closed || self.orders.len() >= TOGETHER || self.bytes >= MANY_BYTES
    }

    fn is_full(&self) -> bool {
        (self.orders.len() >= MOST || self.bytes >= MOST_BYTES) && !self.is_closed
    }
}

impl Orders {
    /// Sends an order; it is dropped if the archive is closed.
    pub(super) fn send(&self, order: ArchiveOrder) {
        let waiting = self.taken.wait_while(self.lock(), |waiting| waiting.is_full());
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        if waiting.is_closed {
            return;
        }
        let was_due = waiting.is_due();
        match &order {
            ArchiveOrder::Exchange(arrived) => waiting.bytes += arrived.captured.in_memory(),
            ArchiveOrder::Member(_) => {}
            ArchiveOrder::Failed(_) | ArchiveOrder::Keep(_) => waiting.is_urgent = true,
        }
        waiting.orders.push(order);
        // The first order begins the time for which others are awaited.
        if waiting.orders.len() == 1 || waiting.is_due() && !was_due {
            self.arrived.notify_one();
        }
    }

    /// Waits for orders and takes them; empty if the archive is closed.
    pub(super) fn take(&self) -> Vec<ArchiveOrder> {
        let is_idle = |waiting: &mut WaitingOrders| waiting.orders.is_empty() && !waiting.is_closed;
        let waiting = self.arrived.wait_while(self.lock(), is_idle);
        let waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        let waiting = self.arrived.wait_timeout_while(waiting, LINGER, |waiting| !waiting.is_due());
        let (mut waiting, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        (waiting.bytes, waiting.is_urgent) = (0, false);
        let orders = std::mem::replace(&mut waiting.orders, Vec::with_capacity(TOGETHER));
        drop(waiting);
        self.taken.notify_all();
        orders
    }

    /// Closes the queue. Orders that wait are still processed.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.arrived.notify_all();
        self.taken.notify_all();
    }

    /// Closes the queue for good: the rest is not processed, and waiting callers are informed.
    pub(super) fn abandon(&self) {
        self.close();
        self.lock().orders.clear();
    }

    fn lock(&self) -> MutexGuard<'_, WaitingOrders> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
