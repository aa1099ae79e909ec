//! The end of a draft before all is read: a run may be over at any entry.

use tokio_util::sync::CancellationToken;

use super::Draft;
use crate::Error;

impl Draft {
    /// Ends the reading of documents once the token is cancelled.
    pub(crate) fn end_with(&mut self, stop: CancellationToken) {
        self.stop = stop;
    }

    /// Returns `true` once the run should end.
    pub(crate) fn is_ending(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Fails once the run should end, because a document, or a single entry, may be long (B12).
    pub(super) fn go_on(&self) -> Result<(), Error> {
        if self.is_ending() { Err(Error::Interrupted) } else { Ok(()) }
    }
}
