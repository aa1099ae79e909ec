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

/// Requests publications of changes that the publishing thread does not see itself.
#[derive(Clone, Debug)]
pub(crate) struct PublicationRequests {
    pub(super) messages: mpsc::SyncSender<LiveMessage>,
}

impl PublicationRequests {
    /// Requests a publication of changes that an application recorded in the catalogue. If the channel is full, a
    /// publication follows anyway.
    pub(crate) fn recorded(&self) {
        let _ = self.messages.try_send(LiveMessage::Recorded);
    }

    /// Requests a scan of everything. Blocks while the channel is full: what waits there may be single paths.
    pub(crate) fn scan_everything(&self) {
        // A Source that has ended scans nothing any more.
        let _ = self.messages.send(LiveMessage::ScanEverything);
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::*;

    #[test]
    fn o633_a_scan_is_requested_also_while_as_many_messages_wait_as_may() {
        let (messages, waiting) = mpsc::sync_channel(1);
        let requests = PublicationRequests { messages };
        requests.recorded();
        let next = || waiting.recv_timeout(Duration::from_secs(30));
        thread::scope(|scope| {
            scope.spawn(|| requests.scan_everything());
            assert!(matches!(next(), Ok(LiveMessage::Recorded)));
            assert!(matches!(next(), Ok(LiveMessage::ScanEverything)));
        });
    }
}
