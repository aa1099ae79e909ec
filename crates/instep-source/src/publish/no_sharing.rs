//! Replaces `sharing.rs` in a build without PostgreSQL: one machine has the Source.

use super::context::SourceContext;
use crate::{Error, sink::FolderSink};

impl SourceContext {
    /// Shares nothing: there is no other server.
    pub(super) fn share(&self, _sink: &FolderSink, _removed: &[String]) -> Result<(), Error> {
        Ok(())
    }

    /// Does nothing: no other server has published.
    pub(super) fn catch_up(&self) -> Result<(), Error> {
        Ok(())
    }
}
