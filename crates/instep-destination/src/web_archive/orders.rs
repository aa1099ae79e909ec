//! Orders for the thread that writes an archive.

use std::{
    fs::File,
    io,
    sync::{
        Mutex, PoisonError,
        mpsc::{self, Receiver, SyncSender},
    },
    time::SystemTime,
};

use super::captured::Captured;

/// Exchanges that wait to be written. Whoever brings the next one waits; each has at most 1 MiB in memory.
const QUEUE: usize = 32;

/// A piece of work for the thread that writes.
pub(super) enum ArchiveOrder {
    Exchange(Box<Captured>),
    Member(ArchivedMember),
    /// A body could not be kept.
    Failed(io::Error),
    /// Everything before is to be on the disk; the result goes here.
    Keep(SyncSender<io::Result<()>>),
}

/// A member of a package, which has no exchange of its own.
pub(super) struct ArchivedMember {
    pub(super) uri: String,
    pub(super) media_type: Option<String>,
    pub(super) file: File,
    pub(super) at: SystemTime,
}

/// The way to the thread that writes, for as long as the archive is open.
#[derive(Debug)]
pub(super) struct Orders(Mutex<Option<SyncSender<ArchiveOrder>>>);

impl Orders {
    /// Opens a way.
    pub(super) fn open() -> (Self, Receiver<ArchiveOrder>) {
        let (sender, orders) = mpsc::sync_channel(QUEUE);
        (Self(Mutex::new(Some(sender))), orders)
    }

    /// Sends an order; it is dropped if the archive is closed.
    pub(super) fn send(&self, order: ArchiveOrder) {
        let orders = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(orders) = orders {
            let _ = orders.send(order);
        }
    }

    /// Closes the way.
    pub(super) fn close(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
