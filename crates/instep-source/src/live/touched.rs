//! What suppliers tell of their resources.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf, sync::mpsc};

use super::{Message, settle::Touch};
use crate::Publisher;

/// Tells the thread that publishes what a supplier's resources came to. Clones tell the same thread.
#[derive(Clone, Debug)]
pub struct Touched {
    folder: PathBuf,
    messages: mpsc::SyncSender<Message>,
}

impl Touched {
    /// Something changed at a path.
    pub fn path(&self, path: &[u8]) {
        let path = self.folder.join(OsStr::from_bytes(path));
        if self.messages.try_send(Message::Touched(path, Touch::Whole)).is_err() {
            self.everything();
        }
    }

    /// So much changed that everything is to be looked at. Waits while the thread that publishes has much to read.
    pub fn everything(&self) {
        let _ = self.messages.send(Message::LookAtEverything);
    }
}

/// Suppliers tell themselves, whether folders are watched or not.
pub(super) fn watch_suppliers(publisher: &Publisher, messages: &mpsc::SyncSender<Message>) {
    for root in publisher.holdings().roots() {
        if let Some(supply) = &root.supply {
            supply.0.watch(Touched { folder: root.folder.clone(), messages: messages.clone() });
        }
    }
}
