//! The delivery of committed changes to a receiver, which may be down.

use std::{
    io,
    time::{Duration, Instant},
};

use super::{CommitError, Committer};

/// The time for which a sink that failed is not called.
const QUIET: Duration = Duration::from_secs(30);

impl Committer {
    /// Passes on the committed changes. After a failure a sink is not called for a while, so that a receiver that is
    /// down does not delay every group; it gets the missed changes later, or in the next run.
    pub(super) fn deliver_changes(&mut self) -> Result<Option<io::Error>, CommitError> {
        const AT_A_TIME: usize = 1_000;
        let Some(sink) = self.sink.clone() else { return Ok(None) };
        if self.quiet_until.is_some_and(|until| Instant::now() < until) {
            return Ok(None);
        }
        loop {
            let changes = self.state.changes(AT_A_TIME)?;
            let Some(last) = changes.last().map(|change| change.sequence) else { return Ok(None) };
            // Changes are forgotten only after the sink received them: after a kill in between they are delivered
            // twice, and none is lost.
            if let Err(error) = sink.take(&changes) {
                self.quiet_until = Some(Instant::now() + QUIET);
                return Ok(Some(error));
            }
            self.state.forget_changes(last)?;
        }
    }
}
