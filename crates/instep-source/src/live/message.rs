//! Messages to the thread that publishes.

use std::{path::PathBuf, sync::mpsc};

use super::settle::Touch;
use crate::{Error, dump::BuiltDumps};

/// The most waiting messages; if there are more, everything is scanned instead.
pub(super) const BACKLOG: usize = 16_384;

/// A message to the thread that publishes.
#[derive(Debug)]
pub(super) enum LiveMessage {
    Touched(PathBuf, Touch),
    EventsLost,
    Recorded,
    ScanEverything,
    Built(Result<Box<BuiltDumps>, Error>),
    End,
}

/// Requests publications of changes that the publishing thread does not see itself. If the channel is full, a
/// publication follows anyway.
#[derive(Clone, Debug)]
pub(crate) struct PublicationRequests {
    pub(super) messages: mpsc::SyncSender<LiveMessage>,
}

impl PublicationRequests {
    /// Requests a publication of changes that an application recorded in the catalogue.
    pub(crate) fn recorded(&self) {
        let _ = self.messages.try_send(LiveMessage::Recorded);
    }

    /// Requests a scan of everything.
    pub(crate) fn scan_everything(&self) {
        let _ = self.messages.try_send(LiveMessage::ScanEverything);
    }
}
